import JobModel

/// What became of the sessions of a transfer that is no longer wanted.
struct Clearance: Sendable, Hashable {
  /// What keeps one of them from being ended.
  var obstacle: Failure?
  /// The session on record, and those that were asked for without an answer and found.
  var ended: [RemoteSession] = []
  /// Those that were asked for without an answer, and that it is too early to look for.
  var early: [SessionIntent] = []

  /// Nothing is left on record.
  var isOver: Bool { obstacle == nil && early.isEmpty }
}
