package import JobModel
import Locks

/// The rate limits that a request stands under, each way: the job's, its policy's.
package final class Throttle: Sendable {
  private let down: [RateLimit]
  private let up: [RateLimit]
  /// Told of body bytes that moved, either way.
  private let moved: @Sendable (Int) -> Void
  private let spent: @Sendable () -> Bool
  private let reserving: @Sendable (Int64) -> Bool
  private let releasing: @Sendable (_ bytes: Int64, _ areMoved: Bool) -> Void
  private let promised: @Sendable () -> Bool
  private let kept: @Sendable () -> Void
  /// Bytes of the budgets that are left to its transfer alone.
  private let reserved = Locked(Int64(0))

  /// - Parameters:
  ///   - spent: whether nothing may move any more for now.
  ///   - reserving: puts bytes of the budgets aside; false where too few are left.
  ///   - releasing: told of bytes that were put aside, and either move now or are not needed.
  ///   - promised: whether bytes are put aside for somebody.
  ///   - kept: told, again and again, of bytes that a spent budget keeps.
  package init(
    down: [RateLimit], up: [RateLimit], moved: @escaping @Sendable (Int) -> Void = { _ in },
    spent: @escaping @Sendable () -> Bool = { false },
    reserving: @escaping @Sendable (Int64) -> Bool = { _ in true },
    releasing: @escaping @Sendable (_ bytes: Int64, _ areMoved: Bool) -> Void = { _, _ in },
    promised: @escaping @Sendable () -> Bool = { false },
    kept: @escaping @Sendable () -> Void = {}
  ) {
    self.down = down
    self.up = up
    self.moved = moved
    self.spent = spent
    self.reserving = reserving
    self.releasing = releasing
    self.promised = promised
    self.kept = kept
  }

  /// The same limits for one transfer, which is told of where a spent budget keeps its bytes.
  package func telling(_ kept: @escaping @Sendable () -> Void) -> Throttle {
    Throttle(
      down: down, up: up, moved: moved, spent: spent, reserving: reserving, releasing: releasing,
      promised: promised, kept: kept)
  }

  /// A budget is used up.
  package var isSpent: Bool { spent() }

  /// Whether a spent budget keeps the next bytes of a body, which is told: the body stands still until the engine has
  /// stopped its transfer. Who needs no more bytes asks for none, and goes on to its end.
  package func keepsBytes() -> Bool {
    guard spent(), reserved.withLock({ $0 }) == 0 else { return false }
    kept()
    return true
  }

  /// Puts so many bytes of the budgets aside for a body that can't be gone on with, less what is put aside already: nobody
  /// else spends them.
  ///
  /// - Returns: false where too few are left.
  package func reserve(_ bytes: Int64) -> Bool {
    let more = bytes - reserved.withLock { $0 }
    guard more > 0 else { return true }
    guard reserving(more) else { return false }
    reserved.withLock { $0 += more }
    return true
  }

  /// Bytes of the budgets are put aside for somebody.
  package var isPromised: Bool { promised() }

  /// Gives back what was put aside and has not moved.
  ///
  /// - Returns: whether there was any.
  package func endReservation() -> Bool {
    let rest = takeReserved(.max)
    if rest > 0 { releasing(rest, false) }
    return rest > 0
  }

  private func takeReserved(_ most: Int64) -> Int64 {
    reserved.withLock { reserved in
      let taken = min(most, reserved)
      reserved -= taken
      return taken
    }
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
  package func count(_ bytes: Int) {
    let paid = takeReserved(Int64(bytes))
    if paid > 0 { releasing(paid, true) }
    moved(bytes)
  }
}
