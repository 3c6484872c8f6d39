import JobModel

/// HTTP dates in their preferred form (RFC 9110, 5.6.7); a day of one digit is read as well.
package enum HTTPDate {
  private typealias Bytes = Slice<UnsafeBufferPointer<UInt8>>

  /// Seconds since 1970; nil for another form.
  package static func seconds(_ text: String) -> Double? {
    // Every answer has one or two: read by bytes.
    var text = text
    return text.withUTF8(read)
  }

  private static func read(_ bytes: UnsafeBufferPointer<UInt8>) -> Double? {
    // Sun, 06 Nov 1994 08:49:37 GMT
    var rest = bytes[...]
    let blank = UInt8(ascii: " ")
    _ = next(&rest, blank)
    guard let day = number(next(&rest, blank)), let month = month(next(&rest, blank)),
      let year = number(next(&rest, blank))
    else { return nil }
    var clock = next(&rest, blank)
    let colon = UInt8(ascii: ":")
    guard let hour = number(next(&clock, colon)), let minute = number(next(&clock, colon)),
      let second = number(next(&clock, colon)), clock.isEmpty, next(&rest, blank).elementsEqual("GMT".utf8),
      rest.allSatisfy({ $0 == blank }), (1000...9999).contains(year), (1...31).contains(day), hour <= 23,
      minute <= 59, second <= 60
    else { return nil }
    let days = Timestamp.days(year: year, month: month, day: day)
    return Double(days * 86_400 + hour * 3600 + minute * 60 + second)
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
