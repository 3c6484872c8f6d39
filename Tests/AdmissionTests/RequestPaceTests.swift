import Testing

@testable import Admission

struct RequestPaceTests {
  struct Limit: Sendable, CustomStringConvertible {
    /// Requests a second, and how many at once.
    var rate: Double
    var burst = 1.0
    /// Seconds until an answer.
    var delay = 0.001
    var requests = 300
    var description: String { "\(rate) a second, \(burst) at once, after \(delay) s" }
  }

  /// A server that counts by a leaky bucket: few are refused, and its rate is used.
  @Test(arguments: [
    Limit(rate: 10), Limit(rate: 10, delay: 0.3), Limit(rate: 10, burst: 10), Limit(rate: 2, requests: 150),
    Limit(rate: 100, requests: 3000), Limit(rate: 1000, burst: 50, requests: 20_000),
  ]) func itKeepsToALimit(_ limit: Limit) {
    var pace = RequestPace()
    var (now, tokens, last) = (0.0, limit.burst, 0.0)
    var (sent, accepted) = (0, 0)
    var flying: [(begun: Double, ends: Double, isRefused: Bool)] = []
    while accepted < limit.requests {
      while flying.count < 8, pace.wait(now: now) == nil {
        pace.admitted(now: now)
        sent += 1
        tokens = min(limit.burst, tokens + (now - last) * limit.rate)
        last = now
        let isRefused = tokens < 1 - 1e-9
        if !isRefused { tokens -= 1 }
        flying.append((now, now + limit.delay, isRefused))
      }
      let next = flying.first?.ends ?? .infinity
      if flying.count < 8, let begin = pace.wait(now: now), begin < next {
        now = begin
        continue
      }
      let answer = flying.removeFirst()
      now = answer.ends
      if answer.isRefused {
        pace.refused(begun: answer.begun, now: now)
      } else {
        pace.accepted(begun: answer.begun, now: now)
        accepted += 1
      }
    }
    let best = (Double(limit.requests) - limit.burst) / limit.rate
    #expect(Double(sent) <= 1.2 * Double(limit.requests), "\(sent) sent")
    #expect(now <= 1.2 * best, "\(now) s, at best \(best) s")
  }

  /// A host that refuses everything for a while is back at once: what it took before, it takes again.
  @Test(arguments: [3.0, 20, 100], [false, true]) func itReturnsFromAnOutage(_ down: Double, _ wasSlow: Bool)
  {
    var pace = RequestPace()
    var (now, sent) = (0.0, 0)
    func ask(_ isRefused: Bool) {
      now = max(now, pace.wait(now: now) ?? now)
      sent += 1
      pace.admitted(now: now)
      now += 0.001
      if isRefused {
        pace.refused(begun: now - 0.001, now: now)
      } else {
        pace.accepted(begun: now - 0.001, now: now)
      }
    }
    if wasSlow {
      ask(true)
      for number in 0..<400 { ask(number % 40 == 39) }
    }
    let before = pace.rate
    let end = now + down
    sent = 0
    while now < end { ask(true) }
    #expect(sent < 30, "\(sent) sent to a host that refuses all")
    let back = now
    for _ in 0..<200 { ask(false) }
    let least = 200 / (before ?? 1000)
    #expect(now - back < 1.2 * least + 32, "\(now - back) s")
  }

  /// One back end of ten that refuses is not to be cured by asking seldom.
  @Test func aFewRefusalsSlowNothingToAHalt() {
    var pace = RequestPace()
    var now = 0.0
    for number in 1...1000 {
      now = max(now, pace.wait(now: now) ?? now)
      pace.admitted(now: now)
      now += 0.001
      if number % 10 == 0 {
        pace.refused(begun: now - 0.001, now: now)
      } else {
        pace.accepted(begun: now - 0.001, now: now)
      }
    }
    #expect(now < 400, "\(now) s")
  }

  @Test func nothingWaitsUntilItIsRefused() {
    var pace = RequestPace()
    for number in 0..<100 {
      pace.admitted(now: Double(number) / 1000)
      #expect(pace.wait(now: Double(number) / 1000) == nil)
    }
    pace.refused(begun: 0.05, now: 0.1)
    #expect(pace.wait(now: 0.1) == 0.35)
    // Of those that were under way then only one counts.
    pace.refused(begun: 0.06, now: 0.11)
    #expect(pace.rate == 4)
  }

  /// A rest does not count as time in which little was used.
  @Test func itGrowsAtOnceAfterARest() {
    var pace = RequestPace()
    pace.admitted(now: 0)
    pace.refused(begun: 0, now: 0.1)
    var now = 3600.0
    for _ in 0..<12 {
      now = max(now, pace.wait(now: now) ?? now)
      pace.admitted(now: now)
      pace.accepted(begun: now, now: now + 0.001)
    }
    #expect((pace.rate ?? 0) > 4, "\(pace.rate ?? 0) a second")
    #expect(now < 3605)
  }
}
