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
    let pieces = bytes.split(separator: UInt8(ascii: " "))
    guard pieces.count == 6, pieces[5].elementsEqual("GMT".utf8), let day = number(pieces[1]),
      let month = month(pieces[2]), let year = number(pieces[3])
    else { return nil }
    let clock = pieces[4].split(separator: UInt8(ascii: ":")).compactMap(number)
    guard clock.count == 3, (1000...9999).contains(year), (1...31).contains(day), clock[0] <= 23,
      clock[1] <= 59, clock[2] <= 60
    else { return nil }
    let days = Timestamp.days(year: year, month: month, day: day)
    return Double(days * 86_400 + clock[0] * 3600 + clock[1] * 60 + clock[2])
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
    for (index, name) in months.enumerated() where bytes.elementsEqual(name.utf8) { return Int64(index + 1) }
    return nil
  }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
}
