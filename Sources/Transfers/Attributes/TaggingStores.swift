import Locks

/// What a run has found out of stores' tags, by origin.
final class TaggingStores: Sendable {
  private struct Known {
    /// They tell with an object how many tags it has.
    var counting: Set<String> = []
    /// They tell no tags.
    var untold: Set<String> = []
    /// They have told no number of an object that has tags.
    var uncounted: Set<String> = []
    /// Objects of which no number was told, and which have no tags.
    var bare: [String: Int] = [:]
  }
  /// So many bare objects, and no other: where no number is told there are no tags.
  private static let enough = 4
  private let known = Locked(Known())

  func counts(in origin: String) -> Bool { known.withLock { $0.counting.contains(origin) } }
  func isUntold(in origin: String) -> Bool { known.withLock { $0.untold.contains(origin) } }
  func note(countsIn origin: String) { known.withLock { _ = $0.counting.insert(origin) } }

  /// - Returns: true for the first who finds it out.
  func note(untoldIn origin: String) -> Bool { known.withLock { $0.untold.insert(origin).inserted } }

  /// Whether objects of which no number is told have tags; nil where too few were asked.
  func hasUncounted(in origin: String) -> Bool? {
    known.withLock { known in
      if known.uncounted.contains(origin) { return true }
      return known.bare[origin, default: 0] >= Self.enough ? false : nil
    }
  }

  /// - Parameter tags: of an object of which no number was told.
  func note(uncounted tags: Int, in origin: String) {
    known.withLock {
      if tags > 0 { _ = $0.uncounted.insert(origin) }
      if tags == 0 { $0.bare[origin, default: 0] += 1 }
    }
  }
}
