import Locks

/// What is said once in a run, however many transfers it is true of.
final class WarnOnce: Sendable {
  private let said = Locked<Set<String>>([])

  /// True for the first who asks.
  func isFirst(_ what: String) -> Bool { said.withLock { $0.insert(what).inserted } }

  func hasSaid(_ what: String) -> Bool { said.withLock { $0.contains(what) } }
}
