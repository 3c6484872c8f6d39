import JobModel

/// HTTP dates in their preferred form (RFC 9110, 5.6.7), of fixed length.
package enum HTTPDate {
  /// Seconds since 1970; nil for another form.
  package static func seconds(_ text: String) -> Double? {
    // Every answer has one or two: read by bytes.
    var text = text
    return text.withUTF8(read)
  }

  private static func read(_ bytes: UnsafeBufferPointer<UInt8>) -> Double? {
    // Sun, 06 Nov 1994 08:49:37 GMT
    guard bytes.count == 29, bytes[3...4].elementsEqual(", ".utf8), bytes[25...].elementsEqual(" GMT".utf8),
      bytes[7] == space, bytes[11] == space, bytes[16] == space, bytes[19] == colon, bytes[22] == colon,
      let day = number(bytes[5...6]), let month = month(bytes[8...10]), let year = number(bytes[12...15]),
      let hour = number(bytes[17...18]), let minute = number(bytes[20...21]),
      let second = number(bytes[23...24]),
      year >= 1000, (1...31).contains(day), hour <= 23, minute <= 59, second <= 60
    else { return nil }
    let days = Timestamp.days(year: year, month: month, day: day)
    return Double(days * 86_400 + hour * 3600 + minute * 60 + second)
  }

  private static let space = UInt8(ascii: " ")
  private static let colon = UInt8(ascii: ":")

  private static func number(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Int64? {
    var number: Int64 = 0
    for byte in bytes {
      guard (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(byte) else { return nil }
      number = number * 10 + Int64(byte - UInt8(ascii: "0"))
    }
    return number
  }

  /// 1 to 12.
  private static func month(_ bytes: Slice<UnsafeBufferPointer<UInt8>>) -> Int64? {
    for (index, name) in months.enumerated() where bytes.elementsEqual(name.utf8) { return Int64(index + 1) }
    return nil
  }

  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]
}
