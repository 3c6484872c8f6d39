/// A day, a week from Monday, or a month, of a zone's wall clock.
package struct BudgetPeriod: Sendable, Hashable {
  /// Its first day as `day 2026-11-21`: what the ledger knows it by.
  package var name: String
  /// The instant (seconds since 1970) at which the next one begins.
  package var end: Double

  /// The period that an instant lies in.
  package init(_ period: Budget.Period, at instant: Double, zone: CivilZone) {
    let day = CivilTime(local: zone.local(instant)).day
    let (first, next): (Int64, Int64)
    switch period {
    case .day: (first, next) = (day, day + 1)
    case .week:
      let past = Int64(Weekday.allCases.firstIndex(of: Weekday(day: day)) ?? 0)
      (first, next) = (day - past, day - past + 7)
    case .month:
      let date = Timestamp.date(Double(day * 86_400)).split(separator: "-").compactMap { Int64($0) }
      let (year, month) = (date[0], date[1])
      first = Timestamp.days(year: year, month: month, day: 1)
      next = Timestamp.days(year: month == 12 ? year + 1 : year, month: month % 12 + 1, day: 1)
    }
    name = "\(period.rawValue) \(Timestamp.date(Double(first * 86_400)))"
    end = zone.instant(ofLocal: Double(next * 86_400), from: instant)
  }
}
