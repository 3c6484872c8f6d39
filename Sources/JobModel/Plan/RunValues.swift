/// What a run puts into `${run.id}` and `${run.date}`.
package struct RunValues: Sendable, Hashable {
  package var id: String
  /// UTC, YYYY-MM-DD.
  package var date: String

  package init(id: String, date: String) {
    self.id = id
    self.date = date
  }
}
