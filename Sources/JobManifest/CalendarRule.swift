internal import JobModel
internal import ManifestFields
internal import TimeZones
internal import YAML

/// `timezone`, `schedule`, `window` and `budget`: what a policy says about hours and days.
enum CalendarRule {
  static let timezone = KeyTable<Policy>.Key.parsed(
    "timezone", \.timezone, schema: ["type": "string"]
  ) { text throws(ValueFault) in try zone(text) }.described("An IANA name, of schedule, window and budget")

  static let schedule = KeyTable<Policy>.Key.own(
    "schedule", schema: KeySchema.list(of: entry.schema)
  ) { fields, policy in
    policy.schedule = entries("schedule", entry, fields) { entry in
      guard let hours = entry.hours, entry.download != nil || entry.upload != nil else { return nil }
      return ScheduleEntry(window: hours, download: entry.download, upload: entry.upload)
    }
  }

  static let window = KeyTable<Policy>.Key.own(
    "window", schema: KeySchema.list(of: hours.schema)
  ) { fields, policy in policy.window = entries("window", hours, fields, \.hours) }

  static func budget<Value>(_ path: KeyTable<Value>.Key.Path<Budget?>) -> KeyTable<Value>.Key {
    .own("budget", parts: budgetKeys.names, schema: budgetKeys.schema) { parent, value in
      guard let fields = parent.fields("budget", KeyShape(name: "`budget`", keys: budgetKeys.names)) else {
        return
      }
      var budget = BudgetParts()
      budgetKeys.read(fields, into: &budget)
      if let bytes = budget.bytes, let period = budget.period {
        value[keyPath: path] = Budget(bytes: bytes, period: period)
      }
    }
  }

  private struct BudgetParts {
    var bytes: Int64?
    var period: Budget.Period?
  }

  private static let budgetKeys: KeyTable<BudgetParts> = [
    .size("bytes", \.bytes, isRequired: true), .choice("per", \.period, isRequired: true),
  ]

  /// An entry of `window` or `schedule` as it is written.
  private struct Entry {
    var days: Set<Weekday>? = Set(Weekday.allCases)
    var from: Int?
    var to: Int?
    var download: Rate?
    var upload: Rate?

    var hours: TimeWindow? {
      guard let days, let from, let to else { return nil }
      return TimeWindow(days: days, from: from, to: to)
    }
  }

  private static let clockSchema = KeySchema.shared("clock")
  private static let hours: KeyTable<Entry> = [
    .own("days", schema: KeySchema.shared("days")) { fields, entry in
      if fields.has("days") { entry.days = days(fields) }
    },
    .parsed("from", \.from, isRequired: true, schema: clockSchema) { text throws(ValueFault) in
      try clock(text, latest: 1439)
    },
    .parsed("to", \.to, isRequired: true, schema: clockSchema) { text throws(ValueFault) in
      try clock(text, latest: 1440)
    },
  ]
  private static let entry = hours.and(
    BandwidthRule.key(isRequired: true) {
      $0.download = $1; $0.upload = $2
    })

  /// IANA's names without a region that mean one zone everywhere.
  private static let plainZones: Set<String> = [
    "UTC", "GMT", "CET", "EET", "MET", "WET", "EST5EDT", "CST6CDT", "MST7MDT", "PST8PDT",
  ]

  private static func zone(_ text: String) throws(ValueFault) -> String {
    // Other names without a region mean different zones in different places.
    guard text.contains("/") || plainZones.contains(text), TimeZones.named(text) != nil else {
      throw ValueFault(
        "`\(text)` is not a time zone",
        hint: TimeZones.areInstalled
          ? "an IANA name, like `Europe/Berlin` or `UTC`"
          : "this machine has no time zones: install the package `tzdata`")
    }
    return text
  }

  private static func entries<Made>(
    _ key: String, _ table: KeyTable<Entry>, _ parent: Fields, _ make: (Entry) -> Made?
  ) -> [Made]? {
    guard let items = parent.items(key) else { return nil }
    let shape = KeyShape(name: "an entry of `\(key)`", keys: table.names)
    return items.enumerated().compactMap { index, item in
      let path = "\(parent.path(key))[\(index + 1)]"
      guard let fields = Fields(item, shape: shape, path: path, scope: parent.scope) else { return nil }
      var entry = Entry()
      table.read(fields, into: &entry)
      return make(entry)
    }
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
    if fields.node("days")?.sequence?.isEmpty == true {
      fields.error("`days` names no day", at: "days", hint: "leave it out for every day")
      return nil
    }
    return fields.list("days", allowsOne: true, range)?.reduce(into: []) { $0.formUnion($1) }
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
