/// RFC 3339 times in UTC with milliseconds, without Foundation's formatters, which are slow by the million.
package enum Timestamp {
  /// 9999-12-31T23:59:59.999Z, the last time that RFC 3339 has.
  private static let last: Int64 = 253_402_300_799_999

  /// `seconds` since 1970; a time beyond year 9999 is written as the end of that year.
  package static func text(_ seconds: Double) -> String {
    let milliseconds = min(Int64(clamping: (seconds * 1000).rounded(.down)), last)
    let (whole, left) = milliseconds.quotientAndRemainder(dividingBy: 86_400_000)
    let (days, rest) = left < 0 ? (whole - 1, left + 86_400_000) : (whole, left)
    let (year, month, day) = civil(days)
    let fields: [(Int64, width: Int, mark: Unicode.Scalar)] = [
      (max(year, 0), 4, "-"), (month, 2, "-"), (day, 2, "T"), (rest / 3_600_000, 2, ":"),
      (rest / 60_000 % 60, 2, ":"), (rest / 1000 % 60, 2, "."), (rest % 1000, 3, "Z"),
    ]
    return String(unsafeUninitializedCapacity: 24) { bytes in
      var end = 0
      for (value, width, mark) in fields {
        var left = value
        for place in (end..<end + width).reversed() {
          bytes[place] = UInt8(ascii: "0") + UInt8(left % 10)
          left /= 10
        }
        bytes[end + width] = UInt8(ascii: mark)
        end += width + 1
      }
      return end
    }
  }

  /// `YYYY-MM-DD` of `seconds` since 1970, UTC.
  package static func date(_ seconds: Double) -> String { String(text(seconds).prefix(10)) }

  /// Days since 1970 of a civil date (Howard Hinnant's algorithm).
  package static func days(year: Int64, month: Int64, day: Int64) -> Int64 {
    let shifted = month <= 2 ? year - 1 : year
    let era = (shifted >= 0 ? shifted : shifted - 399) / 400
    let yearOfEra = shifted - era * 400
    let dayOfYear = (153 * (month + (month > 2 ? -3 : 9)) + 2) / 5 + day - 1
    return era * 146_097 + yearOfEra * 365 + yearOfEra / 4 - yearOfEra / 100 + dayOfYear - 719_468
  }

  /// Year, month and day of days since 1970.
  package static func civil(_ days: Int64) -> (year: Int64, month: Int64, day: Int64) {
    let shifted = days + 719_468
    let era = (shifted >= 0 ? shifted : shifted - 146_096) / 146_097
    let dayOfEra = shifted - era * 146_097
    let yearOfEra = (dayOfEra - dayOfEra / 1460 + dayOfEra / 36_524 - dayOfEra / 146_096) / 365
    let dayOfYear = dayOfEra - (365 * yearOfEra + yearOfEra / 4 - yearOfEra / 100)
    let monthIndex = (5 * dayOfYear + 2) / 153
    let day = dayOfYear - (153 * monthIndex + 2) / 5 + 1
    let month = monthIndex < 10 ? monthIndex + 3 : monthIndex - 9
    return (yearOfEra + era * 400 + (month <= 2 ? 1 : 0), month, day)
  }
}

extension Timestamp {
  /// Seconds since 1970 of an RFC 3339 time; nil for anything else.
  package static func seconds(_ text: String) -> Double? {
    var text = text
    return text.withUTF8 { seconds($0) }
  }

  private static func seconds(_ bytes: UnsafeBufferPointer<UInt8>) -> Double? {
    func number(_ range: Range<Int>) -> Int64? {
      guard range.upperBound <= bytes.count else { return nil }
      var value: Int64 = 0
      for byte in bytes[range] {
        guard (48...57).contains(byte) else { return nil }
        value = value * 10 + Int64(byte - 48)
      }
      return value
    }
    guard bytes.count >= 20, let year = number(0..<4), let month = number(5..<7), let day = number(8..<10),
      let hour = number(11..<13), let minute = number(14..<16), let second = number(17..<19),
      (1...12).contains(month), (1...31).contains(day), hour < 24, minute < 60, second <= 60,
      bytes[4] == UInt8(ascii: "-"), bytes[7] == UInt8(ascii: "-"), bytes[13] == UInt8(ascii: ":"),
      bytes[16] == UInt8(ascii: ":")
    else { return nil }
    var position = 19
    var fraction = 0.0
    if bytes[position] == UInt8(ascii: ".") {
      position += 1
      var scale = 0.1
      while position < bytes.count, (48...57).contains(bytes[position]) {
        fraction += Double(bytes[position] - 48) * scale
        scale /= 10
        position += 1
      }
    }
    guard position < bytes.count else { return nil }
    var offset: Int64 = 0
    switch bytes[position] {
    case UInt8(ascii: "Z"), UInt8(ascii: "z"): guard position + 1 == bytes.count else { return nil }
    case UInt8(ascii: "+"), UInt8(ascii: "-"):
      guard let hours = number(position + 1..<position + 3),
        let minutes = number(position + 4..<position + 6),
        position + 6 == bytes.count
      else { return nil }
      offset = (hours * 3600 + minutes * 60) * (bytes[position] == UInt8(ascii: "-") ? -1 : 1)
    default: return nil
    }
    let seconds = days(year: year, month: month, day: day) * 86_400 + hour * 3600 + minute * 60 + second
    return Double(seconds - offset) + fraction
  }
}
