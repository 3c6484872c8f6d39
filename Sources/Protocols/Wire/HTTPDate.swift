import JobModel

/// HTTP dates in their preferred form (RFC 9110, 5.6.7).
package enum HTTPDate {
  private static let months: [Substring] = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// Seconds since 1970; nil for another form.
  package static func seconds(_ text: String) -> Double? {
    // Sun, 06 Nov 1994 08:49:37 GMT
    let pieces = text.split(separator: " ")
    guard pieces.count == 6, pieces[5] == "GMT", let day = Int64(pieces[1]), let year = Int64(pieces[3]),
      (1000...9999).contains(year)
    else {
      return nil
    }
    guard let month = months.firstIndex(of: pieces[2]) else { return nil }
    let clock = pieces[4].split(separator: ":").compactMap { Int64($0) }
    guard clock.count == 3, (1...31).contains(day), (0...23).contains(clock[0]), (0...59).contains(clock[1]),
      (0...60).contains(clock[2])
    else { return nil }
    let days = Timestamp.days(year: year, month: Int64(month + 1), day: day)
    return Double(days * 86_400 + clock[0] * 3600 + clock[1] * 60 + clock[2])
  }
}
