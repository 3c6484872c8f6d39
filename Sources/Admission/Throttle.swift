package import JobModel

/// The rate limits that a request stands under, each way: the job's, its policy's.
package final class Throttle: Sendable {
  private let down: [RateLimit]
  private let up: [RateLimit]
  /// Told of body bytes that moved, either way.
  private let moved: @Sendable (Int) -> Void
  private let spent: @Sendable () -> Bool

  /// - Parameter spent: whether nothing may move any more for now.
  package init(
    down: [RateLimit], up: [RateLimit], moved: @escaping @Sendable (Int) -> Void = { _ in },
    spent: @escaping @Sendable () -> Bool = { false }
  ) {
    self.down = down
    self.up = up
    self.moved = moved
    self.spent = spent
  }

  /// A budget is used up: bodies stand still until the engine has stopped them.
  package var isSpent: Bool { spent() }

  /// The limits of one policy, for requests outside of a run.
  package convenience init(_ policy: EffectivePolicy) {
    self.init(down: [RateLimit(policy.downloadRate)], up: [RateLimit(policy.uploadRate)])
  }

  package func limits(_ direction: Direction) -> [RateLimit] {
    switch direction {
    case .download: down
    case .upload: up
    }
  }

  /// Bytes a second of the tightest limit; nil where nothing limits.
  package func rate(_ direction: Direction) -> Double? { limits(direction).compactMap(\.rate).min() }

  /// Counts body bytes that crossed the network.
  package func count(_ bytes: Int) { moved(bytes) }
}
