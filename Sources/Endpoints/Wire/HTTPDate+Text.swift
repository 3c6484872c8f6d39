import JobModel

extension HTTPDate {
  private static let days = ["Thu", "Fri", "Sat", "Sun", "Mon", "Tue", "Wed"]
  private static let months = [
    "Jan", "Feb", "Mar", "Apr", "May", "Jun", "Jul", "Aug", "Sep", "Oct", "Nov", "Dec",
  ]

  /// The preferred form of a time, as `seconds` reads it. Times before 1970 are written as that.
  package static func text(_ seconds: Int64) -> String {
    func padded(_ number: Int64, _ width: Int) -> String {
      let digits = String(number)
      return String(repeating: "0", count: max(0, width - digits.utf8.count)) + digits
    }
    let time = max(0, seconds)
    let (days, second) = (time / 86_400, time % 86_400)
    let date = Timestamp.civil(days)
    let clock = [second / 3600, second / 60 % 60, second % 60].map { padded($0, 2) }.joined(separator: ":")
    let day = "\(Self.days[Int(days % 7)]), \(padded(date.day, 2)) \(months[Int(date.month - 1)])"
    return "\(day) \(padded(date.year, 4)) \(clock) GMT"
  }
}
