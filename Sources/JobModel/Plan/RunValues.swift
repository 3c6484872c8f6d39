/// What a run puts into `${run.id}` and `${run.date}`, and what the durations of `where` count back from.
package struct RunValues: Sendable, Hashable {
  package var id: String
  /// UTC, YYYY-MM-DD.
  package var date: String

  /// Seconds since 1970; of a continued run, when its first attempt began.
  package var startedAt: Double

  package init(id: String, startedAt: Double) {
    self.id = id
    self.startedAt = startedAt
    date = Timestamp.date(startedAt)
  }
}
