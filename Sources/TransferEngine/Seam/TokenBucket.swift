/// A rate limit that lets a debt arise and waits until it is paid: right on average for any size of step.
package struct TokenBucket: Sendable, Hashable {
  /// Bytes a second; nil is no limit.
  package var rate: Double?
  private var tokens = 0.0
  private var last: Double?

  package init(rate: Double?) { self.rate = rate }

  /// Takes `count` bytes at time `now` (seconds); returns how long to wait before the next ones may go.
  package mutating func take(_ count: Int, now: Double) -> Double {
    guard let rate, rate > 0 else { return 0 }
    // A tenth of a second may be saved up, so that an idle moment does not end in a burst.
    tokens = min(rate / 10, tokens + rate * max(0, now - (last ?? now)))
    last = now
    tokens -= Double(count)
    return tokens >= 0 ? 0 : -tokens / rate
  }
}
