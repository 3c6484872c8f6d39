/// A rate limit as a sum of bytes: it grows with time, each step takes from it, and below zero nobody goes on.
/// Right on average for any size of step.
package struct TokenBucket: Sendable, Hashable {
  /// Bytes a second; nil is no limit.
  package var rate: Double? {
    didSet {
      guard rate != oldValue else { return }
      // What was owed at another rate is no measure of this one.
      tokens = min(0, max(tokens, -(rate ?? 0) * Self.burst))
      missed = 0
    }
  }
  private var tokens = 0.0
  /// Bytes that could have gone, but a server was slow, or this process was not given the processor in time.
  private var missed = 0.0
  private var last: Double?

  /// Seconds that an idle moment saves up. With a step of a 32nd and what is made up for, a second stays below 1.1.
  private static let burst = 0.02
  /// How much faster than the rate missed bytes are made up for.
  private static let makeUp = 0.04

  package init(rate: Double?) { self.rate = rate }

  /// Brings the sum up to `now` (seconds).
  package mutating func refill(now: Double) {
    let step = max(0, now - (last ?? now))
    last = now
    guard let rate, rate > 0 else { return }
    let made = min(missed, rate * step * Self.makeUp)
    missed -= made
    tokens += rate * step + made
    let most = rate * Self.burst
    guard tokens > most else { return }
    missed = min(rate / 2, missed + tokens - most)
    tokens = most
  }

  /// Seconds until the next step may go, as of the last refill.
  package var wait: Double {
    guard let rate, rate > 0 else { return 0 }
    return tokens >= 0 ? 0 : -tokens / rate
  }

  /// Waits for so many bytes that others have moved already; they are made up for as missed ones are.
  package mutating func delay(_ count: Double) {
    guard let rate, rate > 0 else { return }
    let most = min(count, rate / 2 - missed)
    guard most > 0 else { return }
    tokens -= most
    missed += most
  }

  /// Takes a step that has its turn.
  package mutating func take(_ count: Int) {
    if rate != nil { tokens -= Double(count) }
  }
}
