import Glibc

/// Dates in headers and JSON, in seconds since 1970.
enum HTTPDate {
  private static let days = ["Sun", "Mon", "Tue", "Wed", "Thu", "Fri", "Sat"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  static var now: Int { time(nil) }

  /// IMF-fixdate (RFC 9110, 5.6.7): `Sun, 06 Nov 1994 08:49:37 GMT`.
  static func format(_ seconds: Int) -> String {
    let parts = calendar(seconds)
    let clock = "\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))"
    let month = months[Int(parts.tm_mon) % 12]
    return
      "\(days[Int(parts.tm_wday) % 7]), \(two(parts.tm_mday)) \(month) \(parts.tm_year + 1900) \(clock) GMT"
  }

  /// Only IMF-fixdate, the one form that senders may make; anything else is nil.
  static func parse(_ text: String) -> Int? {
    let words = text.split(separator: " ")
    guard words.count == 6, words[5] == "GMT", let day = Int32(words[1]), let year = Int32(words[3]),
      let month = months.firstIndex(of: String(words[2]))
    else { return nil }
    let clock = words[4].split(separator: ":").compactMap { Int32($0) }
    guard clock.count == 3, (1...31).contains(day), (1...9999).contains(year), (0...23).contains(clock[0]),
      (0...59).contains(clock[1]), (0...60).contains(clock[2])
    else { return nil }
    var parts = tm()
    parts.tm_mday = day
    parts.tm_mon = Int32(month)
    parts.tm_year = year - 1900
    (parts.tm_hour, parts.tm_min, parts.tm_sec) = (clock[0], clock[1], clock[2])
    return timegm(&parts)
  }

  /// RFC 3339: `1994-11-06T08:49:37Z`.
  static func rfc3339(_ seconds: Int) -> String {
    let parts = calendar(seconds)
    let date = "\(parts.tm_year + 1900)-\(two(parts.tm_mon + 1))-\(two(parts.tm_mday))"
    return "\(date)T\(two(parts.tm_hour)):\(two(parts.tm_min)):\(two(parts.tm_sec))Z"
  }

  private static func calendar(_ seconds: Int) -> tm {
    var seconds = time_t(seconds)
    var parts = tm()
    gmtime_r(&seconds, &parts)
    return parts
  }

  private static func two(_ number: Int32) -> String { number < 10 ? "0\(number)" : "\(number)" }
}
