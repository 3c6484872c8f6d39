package import JobModel
import Locks

/// One limit of bytes a second that everything under it shares; its rate may change at any time.
package final class RateLimit: Sendable {
  private struct State {
    var bucket: TokenBucket
    var waiting = 0
    var open = 0
  }
  private let state: Locked<State>

  package init(_ rate: Rate = .unlimited) {
    state = Locked(State(bucket: TokenBucket(rate: rate.number)))
  }

  /// Bytes a second; nil is no limit.
  package var rate: Double? { state.withLock { $0.bucket.rate } }

  package func set(_ rate: Rate) { state.withLock { $0.bucket.rate = rate.number } }

  /// Seconds until a step may go.
  package func wait(now: Double) -> Double {
    state.withLock { state in
      state.bucket.refill(now: now)
      return state.bucket.wait
    }
  }

  package func take(_ count: Int) { state.withLock { $0.bucket.take(count) } }

  /// A server has filled the buffers between us, at once.
  package func delay(_ count: Double) { state.withLock { $0.bucket.delay(count) } }

  /// Whether somebody stands in line for it.
  var isWanted: Bool { state.withLock { $0.waiting > 0 } }
  func enterLine() { state.withLock { $0.waiting += 1 } }
  func leaveLine() { state.withLock { $0.waiting -= 1 } }

  /// Bytes a second that a connection has at least. One that gets much less is taken for dead by its server, and
  /// what many of them hold in their buffers would be a burst of more than a second's bytes.
  package static let leastShare = 32_768.0

  /// Lets a request begin where all of its limits can feed one more.
  static func open(_ limits: [RateLimit]) -> Bool {
    for (index, limit) in limits.enumerated() where !limit.open() {
      for opened in limits[..<index] { opened.close() }
      return false
    }
    return true
  }

  private func open() -> Bool {
    state.withLock { state in
      if let rate = state.bucket.rate, state.open >= max(1, Int(rate / Self.leastShare)) { return false }
      state.open += 1
      return true
    }
  }
  func close() { state.withLock { $0.open -= 1 } }
}

extension Rate {
  var number: Double? {
    switch self {
    case .unlimited: nil
    case .bytesPerSecond(let bytes): Double(bytes)
    }
  }
}
