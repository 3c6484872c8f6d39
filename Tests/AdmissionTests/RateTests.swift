import JobModel
import Testing

@testable import Admission

/// Rate limits by the arithmetic: who may go when, under a clock that the test moves.
struct RateTests {
  /// Lets each of `lines` move one step after another, for so many seconds; gives the bytes by tenths of a second.
  private func simulate(
    _ limits: [[RateLimit]], step: Int, seconds: Double, pause: Double = 0.001,
    at change: (Double) -> Void = { _ in }
  ) -> [[Int]] {
    var line = PaceLine()
    var moved = Array(repeating: Array(repeating: 0, count: Int(seconds * 10) + 1), count: limits.count)
    var places: [Int: Int] = [:]
    var now = 0.0
    while now < seconds {
      change(now)
      for place in line.due(now: now) {
        if let index = places.removeValue(forKey: place) { moved[index][Int(now * 10)] += step }
      }
      for index in limits.indices where !places.values.contains(index) {
        while true {
          if let place = line.ask(step, under: limits[index], now: now) {
            places[place] = index
            break
          }
          moved[index][Int(now * 10)] += step
        }
      }
      now += max(pause, min(0.2, line.next(now: now) ?? 0.2))
    }
    return moved
  }

  @Test(
    arguments: [
      (1000.0, 256, 1), (1000, 1024, 4), (65_536, 1024, 1), (65_536, 1024, 16), (1e6, 16_384, 4),
      (50e6, 16_384, 16), (50e6, 65_536, 1),
    ]) func theRateHoldsForAnyStepAndNumber(rate: Double, step: Int, count: Int)
  {
    let limit = RateLimit(.bytesPerSecond(Int64(rate)))
    let seconds = 30.0
    let moved = simulate(Array(repeating: [limit], count: count), step: step, seconds: seconds)
    let sums = (0..<Int(seconds * 10)).map { tenth in moved.reduce(0) { $0 + $1[tenth] } }
    let total = Double(sums.reduce(0, +))
    #expect(abs(total / seconds - rate) <= rate * 0.03 + Double(step) / seconds, "\(total / seconds)")
    for start in 0..<(sums.count - 10) {
      let second = Double(sums[start..<(start + 10)].reduce(0, +))
      #expect(second <= rate * 1.1 + Double(step), "\(second) in the second from \(start)")
    }
    // Nobody is served before the others by much.
    let each = moved.map { $0.reduce(0, +) }
    #expect((each.min() ?? 0) * 2 + 2 * step > (each.max() ?? 0))
  }

  @Test func theTighterOfTwoLimitsHoldsAndOthersAreNotHeldUp() {
    let job = RateLimit(.bytesPerSecond(100_000))
    let slow = RateLimit(.bytesPerSecond(10_000))
    let moved = simulate([[job, slow], [job, slow], [job]], step: 500, seconds: 20).map { $0.reduce(0, +) }
    #expect(abs(moved[0] + moved[1] - 200_000) < 8000)
    #expect(abs(moved[2] - 1_800_000) < 60_000)
  }

  @Test func aChangeTakesHoldWithinATenth() {
    let limit = RateLimit(.bytesPerSecond(1_000_000))
    let moved = simulate(Array(repeating: [limit], count: 4), step: 4096, seconds: 12) { now in
      limit.set(.bytesPerSecond(now < 4 ? 1_000_000 : now < 8 ? 50_000 : 500_000))
    }
    func sum(_ tenths: Range<Int>) -> Int { moved.reduce(0) { $0 + $1[tenths].reduce(0, +) } }
    #expect(abs(sum(10..<40) - 3_000_000) < 120_000)
    #expect(abs(sum(41..<80) - 195_000) < 30_000)
    #expect(sum(41..<51) < 60_000 + 4 * 4096)
    #expect(abs(sum(82..<120) - 1_900_000) < 80_000)
  }

  @Test func idlingSavesUpLittle() {
    var idle = TokenBucket(rate: 1000)
    idle.refill(now: 0)
    idle.take(1)
    idle.refill(now: 3600)
    idle.take(20)
    #expect(idle.wait == 0)
    idle.take(50)
    #expect(idle.wait == 0.05)
    // A clock that goes back gives nothing away.
    idle.refill(now: 3599)
    #expect(idle.wait == 0.05)
  }

  @Test func missedBytesComeBackSlowly() {
    var bucket = TokenBucket(rate: 1000)
    bucket.refill(now: 0)
    bucket.take(100)
    // It could have gone on since 0.1, and is looked at in 0.5 only.
    bucket.refill(now: 0.5)
    #expect(bucket.wait == 0)
    bucket.take(20)
    var moved = 0
    for tick in 1...1000 {
      bucket.refill(now: 0.5 + Double(tick) / 100)
      while bucket.wait == 0 {
        bucket.take(1)
        moved += 1
      }
    }
    // 380 bytes were missed; ten seconds bring them back at 4 % a second.
    #expect((10_300...10_400).contains(moved), "\(moved)")
  }

  /// What a server has sent ahead into the buffers is waited for, and made up for later.
  @Test func aDelayIsNoLoss() {
    var bucket = TokenBucket(rate: 1000)
    bucket.refill(now: 0)
    bucket.delay(100)
    #expect(abs(bucket.wait - 0.1) < 1e-9)
    // Half a second's bytes at most.
    bucket.delay(10_000)
    #expect(abs(bucket.wait - 0.5) < 1e-9)
    var moved = 0
    for tick in 1...1500 {
      bucket.refill(now: Double(tick) / 100)
      while bucket.wait == 0 {
        bucket.take(1)
        moved += 1
      }
    }
    #expect((14_950...15_050).contains(moved), "\(moved)")
    var free = TokenBucket(rate: nil)
    free.delay(100)
    #expect(free.wait == 0)
  }

  @Test func noRateNeverWaits() {
    var line = PaceLine()
    let limit = RateLimit()
    #expect(line.ask(1 << 40, under: [limit, limit], now: 0) == nil && line.ask(1, under: [], now: 0) == nil)
    limit.set(.bytesPerSecond(1000))
    #expect(line.ask(5000, under: [limit], now: 1) == nil)
    let place = line.ask(1, under: [limit], now: 1)
    #expect(place != nil && line.next(now: 1) == 4.98 && line.due(now: 1).isEmpty)
    // An end without limits frees whoever waits.
    limit.set(.unlimited)
    #expect(line.due(now: 1) == [place] && line.isEmpty && line.next(now: 1) == nil)
  }

  @Test func aPlaceThatIsGivenUpHoldsNobodyUp() {
    var line = PaceLine()
    let limit = RateLimit(.bytesPerSecond(1000))
    #expect(line.ask(100, under: [limit], now: 0) == nil)
    let first = line.ask(100_000, under: [limit], now: 0)
    let second = line.ask(100, under: [limit], now: 0)
    line.leave(first ?? 0)
    #expect(second != nil && line.due(now: 0.2) == [second])
    #expect(!limit.isWanted)
  }

  @Test func aLowRateFeedsFewRequests() {
    let limit = RateLimit(.bytesPerSecond(1000))
    let job = RateLimit(.bytesPerSecond(1_000_000))
    let both = [job, limit]
    #expect(RateLimit.open(both) && !RateLimit.open(both))
    limit.set(.bytesPerSecond(65_536))
    #expect(RateLimit.open(both) && !RateLimit.open(both))
    limit.close()
    #expect(RateLimit.open(both))
    limit.set(.unlimited)
    // Those that could not begin hold no place under the other limit: it feeds thirty, of which three have begun.
    #expect((0..<27).allSatisfy { _ in RateLimit.open(both) } && !RateLimit.open(both))
  }

  @Test func eachWayHasItsOwnLimits() {
    var policy = EffectivePolicy()
    #expect(Throttle(policy).rate(.download) == nil)
    policy.downloadRate = .bytesPerSecond(1000)
    #expect(Throttle(policy).rate(.download) == 1000 && Throttle(policy).rate(.upload) == nil)
    let job = RateLimit(.bytesPerSecond(10))
    let both = Throttle(down: [job, RateLimit(policy.downloadRate)], up: [job])
    #expect(both.rate(.download) == 10 && both.rate(.upload) == 10)
  }
}
