import JobModel

/// A time zone's rule as a POSIX TZ text has it, for instance `CET-1CEST,M3.5.0,M10.5.0/3` (RFC 9636, 3.3.1).
struct ZoneRule: Sendable, Hashable {
  private struct Summer: Hashable {
    /// Seconds east of UTC.
    var offset: Int
    var start: RuleDay
    var end: RuleDay
  }
  /// Seconds east of UTC.
  private let standard: Int
  private let summer: Summer?

  /// nil for what is none.
  init?(_ text: some Collection<UInt8>) {
    var reader = ZoneRuleReader(text)
    guard reader.name(), let offset = reader.offset() else { return nil }
    standard = offset
    guard !reader.isAtEnd else {
      summer = nil
      return
    }
    guard reader.name() else { return nil }
    var summer = Summer(offset: standard + 3600, start: .us.start, end: .us.end)
    if !reader.isAtEnd, !reader.sees(",") {
      guard let offset = reader.offset() else { return nil }
      summer.offset = offset
    }
    if !reader.isAtEnd {
      guard reader.take(","), let start = reader.day(), reader.take(","), let end = reader.day(),
        reader.isAtEnd
      else { return nil }
      (summer.start, summer.end) = (start, end)
    }
    self.summer = summer
  }

  func offset(at instant: Double) -> Int {
    changes(around: instant).last { $0.at <= instant }?.offset ?? standard
  }

  func nextChange(after instant: Double) -> Double? {
    let now = offset(at: instant)
    return changes(around: instant).first { $0.at > instant && offset(at: $0.at) != now }?.at
  }

  /// The changes of the year before to two years after, in order: times of day may reach a week into other years.
  private func changes(around instant: Double) -> [(at: Double, offset: Int)] {
    guard let summer else { return [] }
    let year = Timestamp.civil(Int64(clamping: (instant / 86_400).rounded(.down))).year
    let changes = (year - 1...year + 2).flatMap { year in
      [
        (at: summer.end.instant(in: year) - Double(summer.offset), offset: standard),
        (at: summer.start.instant(in: year) - Double(standard), offset: summer.offset),
      ]
    }
    // Of two at one instant, summer begins: a zone that always has it is written so.
    return changes.enumerated().sorted { ($0.element.at, $0.offset) < ($1.element.at, $1.offset) }.map(
      \.element)
  }
}

/// A day of each year, and a time on the clock before the change.
struct RuleDay: Hashable {
  enum Day: Hashable {
    /// 1 ... 365; February 29 is not counted.
    case julian(Int64)
    /// 0 ... 365; February 29 is counted.
    case ordinal(Int64)
    /// Week 5 is the last; Sunday is 0.
    case weekday(month: Int64, week: Int64, day: Int64)
  }
  var day: Day
  /// Seconds since midnight; may be negative, or more than a day.
  var time: Int

  /// Where a TZ variable names summer time and no rule.
  static let us = (
    start: RuleDay(day: .weekday(month: 3, week: 2, day: 0), time: 7200),
    end: RuleDay(day: .weekday(month: 11, week: 1, day: 0), time: 7200)
  )

  /// Seconds since 1970 of the wall clock.
  func instant(in year: Int64) -> Double { Double(date(in: year) * 86_400 + Int64(time)) }

  /// Days since 1970.
  private func date(in year: Int64) -> Int64 {
    switch day {
    case .ordinal(let number): return Timestamp.days(year: year, month: 1, day: 1) + number
    case .julian(let number):
      // Counted from a year without the day.
      let (_, month, day) = Timestamp.civil(Timestamp.days(year: 1971, month: 1, day: 1) + number - 1)
      return Timestamp.days(year: year, month: month, day: day)
    case .weekday(let month, let week, let wanted):
      let first = Timestamp.days(year: year, month: month, day: 1)
      let next = Timestamp.days(year: month == 12 ? year + 1 : year, month: month % 12 + 1, day: 1)
      // 1970-01-01 was a Thursday.
      let weekday = ((first + 4) % 7 + 7) % 7
      var date = first + (wanted - weekday + 7) % 7 + (week - 1) * 7
      while date >= next { date -= 7 }
      return date
    }
  }
}

/// Reads the pieces of a POSIX TZ text.
struct ZoneRuleReader {
  private var rest: ArraySlice<UInt8>

  init(_ text: some Collection<UInt8>) { rest = ArraySlice(text) }

  var isAtEnd: Bool { rest.isEmpty }

  func sees(_ scalar: Unicode.Scalar) -> Bool { rest.first == UInt8(ascii: scalar) }

  mutating func take(_ scalar: Unicode.Scalar) -> Bool {
    guard sees(scalar) else { return false }
    rest.removeFirst()
    return true
  }

  /// `CET`, `<+03>`.
  mutating func name() -> Bool {
    let isQuoted = take("<")
    let before = rest.count
    rest = rest.drop { byte in
      let isLetter = (0x61...0x7A).contains(byte | 0x20)
      return isLetter || isQuoted && ((0x30...0x39).contains(byte) || byte == 0x2B || byte == 0x2D)
    }
    return before - rest.count >= 3 && (!isQuoted || take(">"))
  }

  /// Seconds east of UTC; the text counts hours west.
  mutating func offset() -> Int? { time(hours: 24).map { -$0 } }

  mutating func day() -> RuleDay? {
    let day: RuleDay.Day
    if take("M") {
      guard let month = number(1...12), take("."), let week = number(1...5), take("."),
        let weekday = number(0...6)
      else { return nil }
      day = .weekday(month: Int64(month), week: Int64(week), day: Int64(weekday))
    } else if take("J") {
      guard let number = number(1...365) else { return nil }
      day = .julian(Int64(number))
    } else {
      guard let number = number(0...365) else { return nil }
      day = .ordinal(Int64(number))
    }
    guard take("/") else { return RuleDay(day: day, time: 7200) }
    return time(hours: 167).map { RuleDay(day: day, time: $0) }
  }

  /// `[+-]hh[:mm[:ss]]` in seconds.
  private mutating func time(hours: Int) -> Int? {
    let isNegative = take("-")
    if !isNegative { _ = take("+") }
    guard let hour = number(0...hours) else { return nil }
    var seconds = hour * 3600
    for unit in [60, 1] where take(":") {
      guard let number = number(0...59) else { return nil }
      seconds += number * unit
    }
    return isNegative ? -seconds : seconds
  }

  private mutating func number(_ range: ClosedRange<Int>) -> Int? {
    let digits = rest.prefix(4).prefix { (0x30...0x39).contains($0) }
    rest = rest.dropFirst(digits.count)
    return Int(String(decoding: digits, as: UTF8.self)).flatMap { range.contains($0) ? $0 : nil }
  }
}
