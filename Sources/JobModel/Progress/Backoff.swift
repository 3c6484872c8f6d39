import Glibc

/// How long to wait before a request is tried again: exponential, with full jitter, never under Retry-After.
package struct Backoff: Sendable, Hashable {
  /// Seconds.
  package var initial: Double
  /// Seconds.
  package var maximum: Double
  package var multiplier: Double
  package var jitter: Jitter

  /// The longest rest, in seconds, that is waited for within a request's tries when a server asks for it. For a longer
  /// one the transfer is paused until it is over.
  package var longestRest: Double { max(60, maximum * 10) }

  package init(_ policy: EffectivePolicy) {
    initial = policy.retryInitial
    maximum = policy.retryMax
    multiplier = policy.retryMultiplier
    jitter = policy.retryJitter
  }

  /// Seconds before try number `attempt` + 1, where `attempt` counts from 1 and `random` is in 0 ..< 1.
  package func delay(afterAttempt attempt: Int, retryAfter: Double?, random: Double) -> Double {
    let ceiling = min(maximum, initial * pow(multiplier, Double(max(0, attempt - 1))))
    let own = jitter == .full ? ceiling * random : ceiling
    guard let retryAfter else { return own }
    // Full jitter goes on top of what the server asked for, so that clients do not come back together.
    return max(0, retryAfter) + min(own, 1)
  }
}
