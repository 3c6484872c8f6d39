import Foundation

/// HTTP dates in their preferred form (RFC 9110, 5.6.7).
package enum HTTPDate {
  /// Seconds since 1970; nil for another form.
  package static func seconds(_ text: String) -> Double? {
    // Sun, 06 Nov 1994 08:49:37 GMT
    let pieces = text.split(separator: " ")
    guard pieces.count == 6, pieces[5] == "GMT", let day = Int(pieces[1]), let year = Int(pieces[3]) else {
      return nil
    }
    let months = ["Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec"]
    guard let month = months.firstIndex(of: String(pieces[2])) else { return nil }
    let clock = pieces[4].split(separator: ":").compactMap { Int($0) }
    guard clock.count == 3, (1...31).contains(day), (0...23).contains(clock[0]), (0...59).contains(clock[1]),
      (0...60).contains(clock[2])
    else { return nil }
    var components = DateComponents()
    components.timeZone = TimeZone(secondsFromGMT: 0)
    (components.year, components.month, components.day) = (year, month + 1, day)
    (components.hour, components.minute, components.second) = (clock[0], clock[1], clock[2])
    var calendar = Calendar(identifier: .gregorian)
    calendar.timeZone = TimeZone(secondsFromGMT: 0) ?? .current
    return calendar.date(from: components)?.timeIntervalSince1970
  }
}
