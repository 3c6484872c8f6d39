import JobModel

/// HTTP dates in their three forms (RFC 9110, 5.6.7); a day of one digit is read as well.
package enum HTTPDate {
  private typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>

  /// Seconds since 1970; nil for another form.
  package static func seconds(_ text: String) -> Double? {
    // Every answer has one or two: read by bytes.
    var text = text
    return text.withUTF8(read)
  }

  private static func read(_ bytes: UnsafeBufferPointer<UInt8>) -> Double? {
    var rest = bytes[...]
    let blank = UInt8(ascii: " ")
    _ = next(&rest, blank)
    let second = next(&rest, blank)
    let told: Int64?
    var clock: Bytes
    if let named = month(second) {
      // Sun Nov  6 08:49:37 1994
      let day = number(next(&rest, blank))
      clock = next(&rest, blank)
      told = dayNumber(number(next(&rest, blank)), named, day)
    } else {
      told = second.contains(UInt8(ascii: "-")) ? oldDays(second) : plainDays(second, &rest)
      clock = next(&rest, blank)
      guard next(&rest, blank).elementsEqual("GMT".utf8) else { return nil }
    }
    guard let date = told, let seconds = time(&clock), rest.allSatisfy({ $0 == blank }) else { return nil }
    return Double(date * 86_400 + seconds)
  }

  /// Sun, 06 Nov 1994 08:49:37 GMT
  private static func plainDays(_ day: Bytes, _ rest: inout Bytes) -> Int64? {
    let blank = UInt8(ascii: " ")
    let named = month(next(&rest, blank))
    return dayNumber(number(next(&rest, blank)), named, number(day))
  }

  /// Sunday, 06-Nov-94 08:49:37 GMT. Years from 70 on are of the last century: no clock is asked.
  private static func oldDays(_ date: Bytes) -> Int64? {
    var date = date
    let dash = UInt8(ascii: "-")
    let (day, named) = (number(next(&date, dash)), month(next(&date, dash)))
    guard date.count == 3, let year = number(next(&date, dash)) else { return nil }
    return dayNumber(year < 70 ? 2000 + year : 1900 + year, named, day)
  }

  /// Days since 1970; nil where there is no such day.
  private static func dayNumber(_ year: Int64?, _ month: Int64?, _ day: Int64?) -> Int64? {
    guard let year, let month, let day, (1000...9999).contains(year), (1...31).contains(day) else {
      return nil
    }
    let days = Timestamp.days(year: year, month: month, day: day)
    return Timestamp.civil(days).day == day ? days : nil
  }

  /// Seconds since midnight.
  private static func time(_ clock: inout Bytes) -> Int64? {
    let colon = UInt8(ascii: ":")
    guard let hour = number(next(&clock, colon)), let minute = number(next(&clock, colon)),
      let second = number(next(&clock, colon)), clock.isEmpty, hour <= 23, minute <= 59, second <= 60
    else { return nil }
    return hour * 3600 + minute * 60 + second
  }

  /// Takes the next piece: without arrays, as each answer has one or two dates.
  private static func next(_ rest: inout Bytes, _ separator: UInt8) -> Bytes {
    rest = rest.drop { $0 == separator }
    let end = rest.firstIndex(of: separator) ?? rest.endIndex
    defer { rest = rest[end...] }
    return rest[..<end]
  }

  private static func number(_ bytes: Bytes) -> Int64? {
    guard (1...4).contains(bytes.count) else { return nil }
    var number: Int64 = 0
    for byte in bytes {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
      number = number * 10 + Int64(byte - UInt8(ascii: "0"))
    }
    return number
  }

  /// 1 to 12.
  private static func month(_ bytes: Bytes) -> Int64? {
    guard bytes.count == 3 else { return nil }
    let names: StaticString = "JanFebMarAprMayJunJulAugSepOctNovDec"
    return (0..<12).first { month in
      (0..<3).allSatisfy { names.utf8Start[month * 3 + $0] == bytes[bytes.startIndex + $0] }
    }
    .map { Int64($0 + 1) }
  }
}
