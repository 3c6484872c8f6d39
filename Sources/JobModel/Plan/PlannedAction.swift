/// What a run would do with a transfer.
package enum PlannedAction: String, Sendable, Hashable, CaseIterable {
  case transfer
  case upToDate = "up_to_date"
  case resume
  /// Its bytes are there: only the request that ties them to their record is made.
  case attach
  case skip, unknown
}
