package import JobModel

/// The rate limits that a request stands under, each way: the job's, its policy's.
package final class Throttle: Sendable {
  private let down: [RateLimit]
  private let up: [RateLimit]
  /// Told of body bytes that moved, either way.
  private let moved: @Sendable (Int) -> Void
  private let spent: @Sendable () -> Bool
  private let kept: @Sendable () -> Void

  /// - Parameters:
  ///   - spent: whether nothing may move any more for now.
  ///   - kept: told, again and again, of bytes that a spent budget keeps.
  package init(
    down: [RateLimit], up: [RateLimit], moved: @escaping @Sendable (Int) -> Void = { _ in },
    spent: @escaping @Sendable () -> Bool = { false }, kept: @escaping @Sendable () -> Void = {}
  ) {
    self.down = down
    self.up = up
    self.moved = moved
    self.spent = spent
    self.kept = kept
  }

  /// The same limits for one transfer, which is told of where a spent budget keeps its bytes.
  package func telling(_ kept: @escaping @Sendable () -> Void) -> Throttle {
    Throttle(down: down, up: up, moved: moved, spent: spent, kept: kept)
  }

  /// A budget is used up.
  package var isSpent: Bool { spent() }

  /// Whether a spent budget keeps the next bytes of a body, which is told: the body stands still until the engine has
  /// stopped its transfer. Who needs no more bytes asks for none, and goes on to its end.
  package func keepsBytes() -> Bool {
    guard spent() else { return false }
    kept()
    return true
  }

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
