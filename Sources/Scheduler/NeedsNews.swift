/// What has happened since the needs were last settled.
enum NeedsNews: Int, Comparable {
  case none
  /// A transfer ended that others wait for: they have no turn before that is settled, which has time.
  case mayBeMet
  /// What has needs may have no turn any more: nobody has one before that is settled.
  case mayHaveChanged

  static func < (one: NeedsNews, other: NeedsNews) -> Bool { one.rawValue < other.rawValue }
}
