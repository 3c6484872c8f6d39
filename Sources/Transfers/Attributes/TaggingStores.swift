import Locks

/// What a run has found out of stores' tags, by origin.
final class TaggingStores: Sendable {
  private struct Known {
    /// They tell with an object how many tags it has.
    var counting: Set<String> = []
    /// They tell no tags.
    var untold: Set<String> = []
  }
  private let known = Locked(Known())

  func counts(in origin: String) -> Bool { known.withLock { $0.counting.contains(origin) } }
  func isUntold(in origin: String) -> Bool { known.withLock { $0.untold.contains(origin) } }
  func note(countsIn origin: String) { known.withLock { _ = $0.counting.insert(origin) } }

  /// - Returns: true for the first who finds it out.
  func note(untoldIn origin: String) -> Bool { known.withLock { $0.untold.insert(origin).inserted } }
}
