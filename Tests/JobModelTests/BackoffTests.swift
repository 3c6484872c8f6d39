import JobModel
import Testing

struct BackoffTests {
  private func backoff(
    initial: Double = 0.5, maximum: Double = 60, multiplier: Double = 2, jitter: Jitter = .none
  ) -> Backoff {
    var policy = EffectivePolicy()
    policy.retryInitial = initial
    policy.retryMax = maximum
    policy.retryMultiplier = multiplier
    policy.retryJitter = jitter
    return Backoff(policy)
  }

  @Test func growsUpToTheCap() {
    let steps = (1...10).map { backoff().delay(afterAttempt: $0, retryAfter: nil, random: 0.9) }
    #expect(steps == [0.5, 1, 2, 4, 8, 16, 32, 60, 60, 60])
    #expect(backoff().delay(afterAttempt: 100_000, retryAfter: nil, random: 0) == 60)
    #expect(backoff(multiplier: 1).delay(afterAttempt: 9, retryAfter: nil, random: 0) == 0.5)
    #expect(backoff(initial: 100).delay(afterAttempt: 1, retryAfter: nil, random: 0) == 60)
  }

  @Test func fullJitterIsWithinZeroAndTheCeiling() {
    let jittered = backoff(jitter: .full)
    for attempt in 1...12 {
      let ceiling = backoff().delay(afterAttempt: attempt, retryAfter: nil, random: 0)
      for random in [0, 0.25, 0.5, 0.999] {
        let delay = jittered.delay(afterAttempt: attempt, retryAfter: nil, random: random)
        #expect(abs(delay - ceiling * random) < 1e-9)
      }
    }
  }

  @Test func neverUnderRetryAfter() {
    for asked in [0.0, 0.2, 3, 59, 61, 120] {
      for attempt in 1...9 {
        let delay = backoff(jitter: .full).delay(afterAttempt: attempt, retryAfter: asked, random: 0.7)
        #expect(delay >= asked && delay <= asked + 1, "asked \(asked), got \(delay)")
      }
    }
    #expect(backoff().delay(afterAttempt: 1, retryAfter: -5, random: 0) >= 0)
  }
}
