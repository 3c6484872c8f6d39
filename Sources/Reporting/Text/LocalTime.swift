import JobModel

/// Times for people, by a zone's wall clock and with its distance from UTC: `2026-11-23 22:00:00 +01:00`.
enum LocalTime {
  /// - Parameter seconds: since 1970.
  static func text(_ seconds: Double, _ zone: CivilZone) -> String {
    "\(clock(seconds, zone)) \(name(seconds, zone))"
  }

  /// Without the zone.
  static func clock(_ seconds: Double, _ zone: CivilZone) -> String {
    let shown = Timestamp.text(zone.local(seconds))
    return shown.prefix(10) + " " + shown.dropFirst(11).prefix(8)
  }

  /// `UTC`, `+01:00`.
  static func name(_ seconds: Double, _ zone: CivilZone) -> String {
    let minutes = zone.offset(seconds) / 60
    guard minutes != 0 else { return "UTC" }
    func two(_ value: Int) -> String { value < 10 ? "0\(value)" : "\(value)" }
    return (minutes < 0 ? "-" : "+") + two(abs(minutes) / 60) + ":" + two(abs(minutes) % 60)
  }
}
