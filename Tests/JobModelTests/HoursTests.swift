import Foundation
import JobModel
import Testing

/// Schedules, windows and periods by the wall clock, in zones whose clocks change.
struct HoursTests {
  private static func zone(_ name: String) throws -> CivilZone {
    let zone = try #require(TimeZone(identifier: name))
    return CivilZone(
      offset: { zone.secondsFromGMT(for: Date(timeIntervalSince1970: $0)) },
      nextChange: {
        zone.nextDaylightSavingTimeTransition(after: Date(timeIntervalSince1970: $0))?.timeIntervalSince1970
      })
  }

  private static func instant(_ text: String) throws -> Double { try #require(Timestamp.seconds(text)) }

  private static func minutes(_ text: String) -> Int {
    let parts = text.split(separator: ":").compactMap { Int($0) }
    return parts[0] * 60 + parts[1]
  }

  private static func window(_ from: String, _ to: String, _ days: [Weekday] = Weekday.allCases) -> TimeWindow
  {
    TimeWindow(days: Set(days), from: minutes(from), to: minutes(to))
  }

  struct Look: Sendable {
    var zone = "Europe/Berlin"
    var from: String
    var to: String
    var days = Weekday.allCases
    var at: String
    var isOpen: Bool
    /// When it opens next, if it is shut.
    var opens: String?
  }

  private static let week: [Weekday] = [.mon, .tue, .wed, .thu, .fri]

  @Test(
    arguments: [
      // The edges: the first minute is in, the last one is out.
      Look(
        from: "20:00", to: "22:00", at: "2026-06-01T17:59:59Z", isOpen: false, opens: "2026-06-01T18:00:00Z"),
      Look(from: "20:00", to: "22:00", at: "2026-06-01T18:00:00Z", isOpen: true),
      Look(
        from: "20:00", to: "22:00", at: "2026-06-01T20:00:00Z", isOpen: false, opens: "2026-06-02T18:00:00Z"),
      // Over midnight, and to midnight.
      Look(from: "22:00", to: "06:00", at: "2026-01-01T21:30:00Z", isOpen: true),
      Look(from: "22:00", to: "06:00", at: "2026-01-02T04:59:00Z", isOpen: true),
      Look(
        from: "22:00", to: "06:00", at: "2026-01-02T05:00:00Z", isOpen: false, opens: "2026-01-02T21:00:00Z"),
      Look(from: "22:00", to: "24:00", at: "2026-01-01T22:59:59Z", isOpen: true),
      Look(
        from: "22:00", to: "24:00", at: "2026-01-01T23:00:00Z", isOpen: false, opens: "2026-01-02T21:00:00Z"),
      Look(from: "08:00", to: "08:00", at: "2026-01-01T07:30:00Z", isOpen: true),
      // A night belongs to the day on which it begins: Friday's reaches into Saturday, Sunday's is none.
      Look(from: "22:00", to: "06:00", days: week, at: "2026-11-21T04:00:00Z", isOpen: true),
      Look(
        from: "22:00", to: "06:00", days: week, at: "2026-11-21T05:00:00Z", isOpen: false,
        opens: "2026-11-23T21:00:00Z"),
      Look(
        from: "22:00", to: "06:00", days: week, at: "2026-11-23T02:00:00Z", isOpen: false,
        opens: "2026-11-23T21:00:00Z"),
      Look(from: "00:00", to: "24:00", days: [.sun], at: "2026-11-22T22:59:59Z", isOpen: true),
      Look(
        from: "00:00", to: "24:00", days: [.sun], at: "2026-11-22T23:00:00Z", isOpen: false,
        opens: "2026-11-28T23:00:00Z"),
      // A leap day has a weekday of its own, and March begins after it.
      Look(from: "10:00", to: "11:00", days: [.tue], at: "2028-02-29T09:30:00Z", isOpen: true),
      Look(
        from: "10:00", to: "11:00", days: [.wed], at: "2028-02-28T09:30:00Z", isOpen: false,
        opens: "2028-03-01T09:00:00Z"),
      // Berlin, 2026-03-29: 02:00 becomes 03:00 at 01:00Z. The hour that is left out opens nothing by itself …
      Look(
        from: "02:15", to: "02:45", at: "2026-03-29T01:00:00Z", isOpen: false, opens: "2026-03-30T00:15:00Z"),
      // … and what began in it begins with the change.
      Look(
        from: "02:30", to: "04:00", at: "2026-03-29T00:59:59Z", isOpen: false, opens: "2026-03-29T01:00:00Z"),
      Look(from: "02:30", to: "04:00", at: "2026-03-29T01:00:00Z", isOpen: true),
      Look(from: "22:00", to: "06:00", at: "2026-03-29T03:59:59Z", isOpen: true),
      Look(
        from: "22:00", to: "06:00", at: "2026-03-29T04:00:00Z", isOpen: false, opens: "2026-03-29T20:00:00Z"),
      // Berlin, 2026-10-25: 03:00 becomes 02:00 at 01:00Z. The hour that comes twice counts twice.
      Look(from: "02:00", to: "02:30", at: "2026-10-25T00:15:00Z", isOpen: true),
      Look(
        from: "02:00", to: "02:30", at: "2026-10-25T00:45:00Z", isOpen: false, opens: "2026-10-25T01:00:00Z"),
      Look(from: "02:00", to: "02:30", at: "2026-10-25T01:15:00Z", isOpen: true),
      Look(
        from: "02:10", to: "02:30", at: "2026-10-25T00:45:00Z", isOpen: false, opens: "2026-10-25T01:10:00Z"),
      Look(
        from: "02:00", to: "02:30", at: "2026-10-25T01:30:00Z", isOpen: false, opens: "2026-10-26T01:00:00Z"),
      // New York, 2026-03-08 at 07:00Z and 2026-11-01 at 06:00Z.
      Look(
        zone: "America/New_York", from: "02:30", to: "05:00", at: "2026-03-08T06:30:00Z", isOpen: false,
        opens: "2026-03-08T07:00:00Z"),
      Look(zone: "America/New_York", from: "01:00", to: "01:30", at: "2026-11-01T05:15:00Z", isOpen: true),
      Look(
        zone: "America/New_York", from: "01:00", to: "01:30", at: "2026-11-01T05:40:00Z", isOpen: false,
        opens: "2026-11-01T06:00:00Z"),
      Look(zone: "America/New_York", from: "01:00", to: "01:30", at: "2026-11-01T06:15:00Z", isOpen: true),
      Look(
        zone: "America/New_York", from: "22:00", to: "02:00", days: [.sat], at: "2026-11-01T06:30:00Z",
        isOpen: true),
      // Beirut's clock changes at midnight: 2026-03-29 begins at 01:00, 22:00Z of the day before.
      Look(
        zone: "Asia/Beirut", from: "00:00", to: "06:00", days: [.sun], at: "2026-03-28T21:30:00Z",
        isOpen: false,
        opens: "2026-03-28T22:00:00Z"),
      Look(zone: "UTC", from: "09:00", to: "17:00", at: "2026-03-29T09:00:00Z", isOpen: true),
    ]) func windowsOpenAndShut(_ look: Look) throws
  {
    var policy = EffectivePolicy()
    policy.window = [
      TimeWindow(days: Set(look.days), from: Self.minutes(look.from), to: Self.minutes(look.to))
    ]
    let hours = PolicyHours(policy, zone: try Self.zone(look.zone))
    let now = try Self.instant(look.at)
    #expect(hours.isOpen(at: now) == look.isOpen, "\(look)")
    if let opens = look.opens {
      #expect(hours.nextOpening(after: now).map(Timestamp.date) == String(opens.prefix(10)), "\(look)")
      #expect(hours.nextOpening(after: now) == (try Self.instant(opens)), "\(look)")
    }
  }

  /// Each second of the change's two days is as the next change told, and no change is missed.
  @Test(arguments: ["2026-03-28T00:00:00Z", "2026-10-24T00:00:00Z", "2026-11-20T00:00:00Z"])
  func theNextChangeIsTheNextChange(_ start: String) throws {
    var policy = EffectivePolicy()
    policy.window = [Self.window("22:00", "02:30"), Self.window("02:40", "03:10", [.sun])]
    policy.schedule = [
      ScheduleEntry(
        window: Self.window("01:50", "02:20"), download: .bytesPerSecond(5), upload: .unlimited)
    ]
    let hours = PolicyHours(policy, zone: try Self.zone("Europe/Berlin"))
    var now = try Self.instant(start)
    let end = now + 2 * 86_400
    var next = try #require(hours.nextChange(after: now))
    var known = (hours.isOpen(at: now), hours.bandwidth(at: now))
    while now < end {
      now += 60
      let seen = (hours.isOpen(at: now), hours.bandwidth(at: now))
      #expect((seen.0 != known.0 || seen.1 != known.1) == (next == now), "\(Timestamp.text(now))")
      if next <= now { next = try #require(hours.nextChange(after: now)) }
      known = seen
    }
  }

  @Test func theFirstEntryThatMatchesWins() throws {
    var policy = EffectivePolicy()
    policy.downloadRate = .bytesPerSecond(20)
    policy.uploadRate = .bytesPerSecond(30)
    policy.schedule = [
      ScheduleEntry(window: Self.window("12:00", "13:00"), download: .unlimited, upload: nil),
      ScheduleEntry(
        window: Self.window("08:00", "19:00", Self.week), download: .bytesPerSecond(2),
        upload: .bytesPerSecond(3)),
    ]
    let hours = PolicyHours(policy, zone: try Self.zone("Europe/Berlin"))
    func rates(_ text: String) throws -> Bandwidth { hours.bandwidth(at: try Self.instant(text)) }
    let base = Bandwidth(download: .bytesPerSecond(20), upload: .bytesPerSecond(30))
    #expect(try rates("2026-11-20T06:59:59Z") == base)
    #expect(
      try rates("2026-11-20T07:00:00Z") == Bandwidth(download: .bytesPerSecond(2), upload: .bytesPerSecond(3))
    )
    #expect(try rates("2026-11-20T11:00:00Z") == Bandwidth(download: .unlimited, upload: .bytesPerSecond(30)))
    #expect(try rates("2026-11-20T18:00:00Z") == base)
    #expect(try rates("2026-11-21T10:00:00Z") == base)
    let change = try hours.nextChange(after: Self.instant("2026-11-20T06:00:00Z"))
    #expect(change == (try Self.instant("2026-11-20T07:00:00Z")))
    #expect(PolicyHours(EffectivePolicy(), zone: .utc).nextChange(after: 0) == nil)
  }

  @Test func aWindowThatNeverOpensSaysSo() throws {
    var policy = EffectivePolicy()
    policy.window = [TimeWindow(days: [], from: 0, to: 60)]
    #expect(PolicyHours(policy, zone: .utc).nextOpening(after: 1e9) == nil)
  }

  @Test(
    arguments: [
      (Budget.Period.day, "Europe/Berlin", "2026-11-21T22:59:59Z", "day 2026-11-21", "2026-11-21T23:00:00Z"),
      (.day, "Europe/Berlin", "2026-11-21T23:00:00Z", "day 2026-11-22", "2026-11-22T23:00:00Z"),
      // Days of 23 and of 25 hours.
      (.day, "Europe/Berlin", "2026-03-29T10:00:00Z", "day 2026-03-29", "2026-03-29T22:00:00Z"),
      (.day, "Europe/Berlin", "2026-10-24T22:00:00Z", "day 2026-10-25", "2026-10-25T23:00:00Z"),
      (.day, "America/New_York", "2026-11-01T05:30:00Z", "day 2026-11-01", "2026-11-02T05:00:00Z"),
      // A midnight that is left out.
      (.day, "Asia/Beirut", "2026-03-28T12:00:00Z", "day 2026-03-28", "2026-03-28T22:00:00Z"),
      (.week, "Europe/Berlin", "2026-11-22T22:59:59Z", "week 2026-11-16", "2026-11-22T23:00:00Z"),
      (.week, "Europe/Berlin", "2026-11-22T23:00:00Z", "week 2026-11-23", "2026-11-29T23:00:00Z"),
      (.week, "America/New_York", "2026-03-08T12:00:00Z", "week 2026-03-02", "2026-03-09T04:00:00Z"),
      (.month, "UTC", "2028-02-29T23:59:59Z", "month 2028-02-01", "2028-03-01T00:00:00Z"),
      (.month, "UTC", "2026-12-31T12:00:00Z", "month 2026-12-01", "2027-01-01T00:00:00Z"),
      (.month, "Europe/Berlin", "2026-03-31T21:59:59Z", "month 2026-03-01", "2026-03-31T22:00:00Z"),
    ] as [(Budget.Period, String, String, String, String)])
  func periodsBeginAtTheirMidnight(
    period: Budget.Period, zone: String, at: String, name: String, end: String
  ) throws {
    let found = BudgetPeriod(period, at: try Self.instant(at), zone: try Self.zone(zone))
    #expect(found.name == name)
    #expect(found.end == (try Self.instant(end)), "\(Timestamp.text(found.end))")
  }
}
