internal import Foundation
internal import JobModel
internal import ManifestFields
internal import YAML

/// `timezone`, `schedule`, `window` and `budget`: what a policy says about hours and days.
enum CalendarRule {
  static func read(_ fields: Fields, into policy: inout Policy) {
    policy.timezone = fields.value("timezone", zone)
    policy.schedule = entries("schedule", ["days", "from", "to", "bandwidth"], fields, scheduleEntry)
    policy.window = entries("window", ["days", "from", "to"], fields, window)
    guard let budget = fields.fields("budget", .policyPart("budget", ["bytes", "per"])) else { return }
    budget.require("bytes", "per")
    let period: Budget.Period? = budget.choice("per")
    if let bytes = budget.size("bytes"), let period { policy.budget = Budget(bytes: bytes, period: period) }
  }

  /// IANA's names without a region that mean one zone everywhere.
  private static let plainZones: Set<String> = [
    "UTC", "GMT", "CET", "EET", "MET", "WET", "EST5EDT", "CST6CDT", "MST7MDT", "PST8PDT",
  ]

  private static func zone(_ text: String) throws(ValueFault) -> String {
    // Foundation also takes abbreviations, which mean different zones in different places.
    guard text.contains("/") || plainZones.contains(text), TimeZone(identifier: text) != nil else {
      throw ValueFault("`\(text)` is not a time zone", hint: "an IANA name, like `Europe/Berlin` or `UTC`")
    }
    return text
  }

  private static func entries<Entry>(
    _ key: String, _ keys: [String], _ parent: Fields, _ read: (Fields) -> Entry?
  ) -> [Entry]? {
    guard let items = parent.items(key) else { return nil }
    return items.enumerated().compactMap { index, item in
      let shape = KeyShape(name: "an entry of `\(key)`", keys: keys)
      return Fields(item, shape: shape, path: "\(parent.path(key))[\(index + 1)]", scope: parent.scope)
        .flatMap(read)
    }
  }

  private static func scheduleEntry(_ fields: Fields) -> ScheduleEntry? {
    fields.require("bandwidth")
    let hours = window(fields)
    let rates = BandwidthRule.read(fields)
    guard let hours, let rates else { return nil }
    return ScheduleEntry(window: hours, download: rates.download, upload: rates.upload)
  }

  private static func window(_ fields: Fields) -> TimeWindow? {
    fields.require("from", "to")
    let days = fields.has("days") ? days(fields) : Set(Weekday.allCases)
    let from = fields.value("from") { text throws(ValueFault) in try clock(text, latest: 1439) }
    let to = fields.value("to") { text throws(ValueFault) in try clock(text, latest: 1440) }
    guard let days, let from, let to else { return nil }
    return TimeWindow(days: days, from: from, to: to)
  }

  /// Minutes since midnight.
  private static func clock(_ text: String, latest: Int) throws(ValueFault) -> Int {
    let parts = text.split(separator: ":", omittingEmptySubsequences: false)
    let isClock = parts.count == 2 && (1...2).contains(parts[0].count) && parts[1].count == 2
    guard isClock, let hour = Units.integer(String(parts[0])), let minute = Units.integer(String(parts[1])),
      (0...24).contains(hour), (0...59).contains(minute), hour * 60 + minute <= latest
    else {
      throw ValueFault(
        "`\(text)` is not a time of day", hint: "\"00:00\" to \"23:59\", or \"24:00\" for `to`")
    }
    return Int(hour * 60 + minute)
  }

  private static func days(_ fields: Fields) -> Set<Weekday>? {
    fields.list("days", allowsOne: true, range)?.reduce(into: []) { $0.formUnion($1) }
  }

  /// `mon`, `mon-fri`, `sat,sun`.
  private static func range(_ text: String) throws(ValueFault) -> Set<Weekday> {
    let form = "days are mon, tue, wed, thu, fri, sat, sun, and ranges like `mon-fri`"
    var days: Set<Weekday> = []
    for part in text.split(separator: ",", omittingEmptySubsequences: false) {
      let ends = part.split(separator: "-", omittingEmptySubsequences: false)
        .map { Weekday(rawValue: $0.filter { $0 != " " }) }
      guard (1...2).contains(ends.count), let first = ends[0], let last = ends[ends.count - 1] else {
        throw ValueFault("`\(text)` is not a day or a range of days", hint: form)
      }
      let week = Weekday.allCases
      guard var index = week.firstIndex(of: first) else { continue }
      while true {
        days.insert(week[index])
        if week[index] == last { break }
        index = (index + 1) % week.count
      }
    }
    return days
  }
}
