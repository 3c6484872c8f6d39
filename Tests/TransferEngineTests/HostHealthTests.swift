import JobLedger
import JobModel
import Testing
import TransferEngine

/// The circuit breaker and the window of requests of one host.
struct HostHealthTests {
  private let policy = EffectivePolicy()
  private let silence: Failure = {
    var failure = Failure(.networkUnreachable, "refused")
    failure.isUnconnected = true
    return failure
  }()
  private func backoff(_ failures: Int) -> Double { Double(failures) }

  private func proven() -> HostHealth {
    var host = HostHealth()
    _ = host.begin()
    _ = host.answered(200, retryAfter: nil, begun: 0, now: 0, pause: 1, limit: 8)
    host.end(isProbe: false, now: 0)
    return host
  }

  @Test func whoHasNotAnsweredGetsOneRequest() {
    var host = HostHealth()
    #expect(host.verdict(0, policy) == .go && !host.isShut(0, policy))
    _ = host.begin()
    #expect(host.verdict(0, policy) == .rest(until: nil) && host.isShut(0, policy))
    #expect(host.answered(404, retryAfter: nil, begun: 0, now: 1, pause: 1, limit: 8) == nil)
    #expect(host.verdict(1, policy) == .go && !host.isShut(1, policy))
  }

  @Test func aBodyThatIsTakenIsProofToo() {
    var host = HostHealth()
    _ = host.begin()
    host.connected()
    #expect(host.verdict(0, policy) == .go)
  }

  @Test func theBreakerOpensProbesAndCloses() {
    var host = proven()
    for _ in 1..<HostHealth.threshold {
      #expect(host.failed(silence, now: 1, policy: policy, backoff: backoff) == nil)
      #expect(host.verdict(1, policy) == .go)
    }
    #expect(host.failed(silence, now: 1, policy: policy, backoff: backoff) == .opened(5, rest: 1))
    #expect(host.verdict(1, policy) == .rest(until: 2) && host.isShut(1, policy))
    #expect(host.verdict(6, policy) == .go)
    #expect(host.begin() == (true, .probing))
    #expect(host.verdict(6, policy) == .rest(until: nil))
    #expect(host.answered(200, retryAfter: nil, begun: 6, now: 7, pause: 1, limit: 8) == .closed)
    host.end(isProbe: true, now: 7)
    #expect(host.verdict(7, policy) == .go && !host.isShut(7, policy))
  }

  /// Many requests at once that break are one try of the host, not as many.
  @Test func aBurstOfFailuresIsOneTry() {
    var host = proven()
    for _ in 0..<40 {
      _ = host.failed(silence, by: 1, isProbe: false, now: 1, policy: policy, backoff: backoff)
    }
    #expect(host.verdict(1, policy, asker: 1) == .rest(until: 2))
    _ = host.begin()
    // One that was under way all the time says nothing about the probe.
    #expect(
      host.failed(silence, by: 1, isProbe: false, now: 3, policy: policy, backoff: backoff) == nil
        && host.breaker == .probing)
  }

  @Test func anAnswerInBetweenStartsTheCountAnew() {
    var host = proven()
    for _ in 0..<20 {
      for _ in 1..<HostHealth.threshold { _ = host.failed(silence, now: 1, policy: policy, backoff: backoff) }
      _ = host.answered(500, retryAfter: nil, begun: 1, now: 1, pause: 1, limit: 8)
    }
    #expect(host.breaker == .closed)
  }

  @Test func aProbeThatIsTakenBackLeavesTheNextToFindOut() {
    var host = HostHealth()
    _ = host.begin()
    _ = host.failed(silence, now: 0, policy: policy, backoff: backoff)
    host.end(isProbe: false, now: 0)
    #expect(host.verdict(1, policy) == .go)
    _ = host.begin()
    host.end(isProbe: true, now: 1)
    #expect(host.verdict(1, policy) == .go)
  }

  @Test func aDeadHostIsGivenUp() {
    var host = HostHealth()
    var news: [HostNews.Change?] = []
    for attempt in 1...policy.retryAttempts {
      _ = host.begin()
      news.append(
        host.failed(
          silence, by: Int64(attempt), now: Double(attempt) * 100, policy: policy, backoff: backoff))
      host.end(isProbe: true, now: Double(attempt) * 100)
    }
    #expect(news.first == .opened(1, rest: 1) && news.last == .givenUp(8))
    guard case .refuse(let failure) = host.verdict(801, policy) else {
      Issue.record("\(host.verdict(801, policy))")
      return
    }
    #expect(failure.code == .networkUnreachable && failure.class == .deferred)
    // Its transfers are begun, so that they end; now and then one of them asks.
    #expect(!host.isShut(801, policy) && host.verdict(800 + policy.retryMax, policy) == .go)
  }

  /// A gateway that answers for all is a host that is not there: so many requests, and no more.
  @Test(arguments: [502, 503, 504]) func anOutageIsGivenUpAsSilenceIs(_ status: Int) {
    var host = HostHealth()
    let outage = Failure(.serverError, "HTTP \(status)", httpStatus: status)
    var (now, asked) = (0.0, 0)
    for asker in Int64(1)...500 {
      now += 100
      guard case .go = host.verdict(now, policy, asker: asker) else { continue }
      asked += 1
      let (isProbe, _) = host.begin()
      _ = host.answered(status, retryAfter: nil, begun: now, now: now, pause: 1, limit: 8)
      _ = host.failed(outage, by: asker, isProbe: isProbe, now: now, policy: policy, backoff: backoff)
      host.end(isProbe: isProbe, now: now)
      if case .refuse = host.verdict(now, policy, asker: asker + 1) { break }
    }
    #expect(asked == policy.retryAttempts)
    guard case .refuse(let failure) = host.verdict(now, policy, asker: 999) else {
      Issue.record("\(host.verdict(now, policy, asker: 999))")
      return
    }
    #expect(failure.class == .deferred && failure.httpStatus == status)
    // Any answer of the host's own opens it for all.
    _ = host.begin()
    #expect(host.answered(404, retryAfter: nil, begun: now, now: now, pause: 1, limit: 8) == .closed)
    #expect(host.verdict(now, policy, asker: 1) == .go)
  }

  /// What a server says of one file, or of its own fault, is an answer.
  @Test(arguments: [500, 501, 507, 429, 404]) func otherRefusalsAreNoOutage(_ status: Int) {
    var host = HostHealth()
    for number in 0..<100 {
      _ = host.begin()
      let now = Double(number) * 100
      _ = host.answered(status, retryAfter: nil, begun: now, now: now, pause: 1, limit: 8)
      #expect(!HostHealth.isOutage(status))
      host.end(isProbe: false, now: now)
    }
    #expect(host.breaker == .closed)
  }

  /// The run after one that gave a host up: one request, at once, for all; and a fresh start where it answers.
  @Test func aRunStartedAgainAsksOnce() throws {
    var before = HostHealth()
    for asker in Int64(1)...8 {
      _ = before.begin()
      _ = before.failed(silence, by: asker, now: Double(asker) * 100, policy: policy, backoff: backoff)
      before.end(isProbe: true, now: Double(asker) * 100)
    }
    let record = try #require(before.record)
    for answers in [true, false] {
      var host = HostHealth(record)
      #expect(host.verdict(0, policy, asker: 11) == .go)
      let (isProbe, _) = host.begin()
      #expect(isProbe && host.verdict(0, policy, asker: 12) == .rest(until: nil))
      if answers {
        #expect(host.answered(200, retryAfter: nil, begun: 0, now: 1, pause: 1, limit: 8) == .closed)
        host.end(isProbe: isProbe, now: 1)
        #expect(host.verdict(1, policy, asker: 12) == .go && host.record == nil)
      } else {
        _ = host.failed(silence, by: 11, isProbe: isProbe, now: 1, policy: policy, backoff: backoff)
        host.end(isProbe: isProbe, now: 1)
        for asker in Int64(12)...20 {
          guard case .refuse = host.verdict(1, policy, asker: asker) else {
            Issue.record("\(host.verdict(1, policy, asker: asker))")
            return
          }
        }
      }
    }
  }

  /// A request that a connection was made for may have failed for its URL: others are asked before the host counts as
  /// given up again, and their answers open it.
  @Test(arguments: [
    Failure(.serverError, "HTTP 504", httpStatus: 504), Failure(.timeout, "no answer within 60 s"),
  ])
  func oneFileDoesNotGiveAHostUpAgain(_ failure: Failure) {
    for others in [200, 504] {
      var host = HostHealth(HostRecord(openings: 8, isGivenUp: true, window: nil))
      var now = 0.0
      func ask(_ asker: Int64, _ status: Int) {
        let (isProbe, _) = host.begin()
        #expect(isProbe)
        if status == 200 {
          _ = host.answered(status, retryAfter: nil, begun: now, now: now, pause: 1, limit: 8)
        } else {
          _ = host.failed(failure, by: asker, isProbe: isProbe, now: now, policy: policy, backoff: backoff)
        }
        host.end(isProbe: isProbe, now: now)
      }
      ask(1, 504)
      #expect(host.verdict(now, policy, asker: 2) == .rest(until: 1) && host.hasFailed(1))
      now = 1
      #expect(host.verdict(now, policy, asker: 2) == .go)
      if case .refuse = host.verdict(now, policy, asker: 1) {} else { Issue.record("it asks again itself") }
      ask(2, others)
      if others == 200 {
        #expect(host.verdict(now, policy, asker: 3) == .go && host.record == nil)
        continue
      }
      now = 3
      ask(3, 504)
      guard case .refuse = host.verdict(now, policy, asker: 4) else {
        Issue.record("\(host.verdict(now, policy, asker: 4))")
        return
      }
    }
  }

  /// A back-off that had not come to its end goes on where it was; a narrow window stays narrow.
  @Test func aRunStartedAgainKeepsBackOffAndWindow() throws {
    var before = proven()
    for _ in 0..<8 { _ = before.begin() }
    _ = before.answered(503, retryAfter: nil, begun: 1, now: 1, pause: 1, limit: 8)
    for _ in 0..<5 {
      _ = before.failed(silence, by: 1, isProbe: false, now: 2, policy: policy, backoff: backoff)
    }
    let record = try #require(before.record)
    #expect(record == HostRecord(openings: 1, isGivenUp: false, window: 4))
    var host = HostHealth(record)
    let (isProbe, _) = host.begin()
    #expect(
      host.failed(silence, by: 2, isProbe: isProbe, now: 0, policy: policy, backoff: backoff)
        == .opened(1, rest: 2))
    host.end(isProbe: isProbe, now: 0)
    #expect(host.verdict(0, policy, asker: 3) == .rest(until: 2) && host.window == 4)
  }

  /// Some requests break for what they ask: who has not asked this host yet is let try, and its answer opens all.
  @Test func fewThatBreakDoNotSpeakForOthers() {
    var host = proven()
    for attempt in 1...20 {
      _ = host.begin()
      _ = host.failed(
        silence, by: Int64(attempt % 3 + 1), now: Double(attempt) * 100, policy: policy, backoff: backoff)
      host.end(isProbe: true, now: Double(attempt) * 100)
    }
    guard case .refuse = host.verdict(2001, policy, asker: 1) else {
      Issue.record("\(host.verdict(2001, policy, asker: 1))")
      return
    }
    let open = 2000 + policy.retryMax
    #expect(host.verdict(2001, policy, asker: 9) == .rest(until: open) && host.isShut(2001, policy))
    #expect(host.verdict(open, policy, asker: 9) == .go)
    _ = host.begin()
    #expect(host.answered(200, retryAfter: nil, begun: open, now: open, pause: 1, limit: 8) == .closed)
    #expect(host.verdict(open, policy, asker: 1) == .go && !host.hasFailed(1))
  }

  @Test func theWindowIsHalvedOnceForWhatWasUnderWay() {
    var host = proven()
    for _ in 0..<8 { _ = host.begin() }
    let first = host.answered(429, retryAfter: 3, begun: 1, now: 2, pause: 1, limit: 8)
    #expect(first == .slowed(window: 4, rest: 3, status: 429))
    #expect(host.answered(429, retryAfter: 1, begun: 1, now: 2.5, pause: 1, limit: 8) == nil)
    #expect(host.verdict(3, policy) == .rest(until: 5) && host.isShut(3, policy))
    for _ in 0..<8 { host.end(isProbe: false, now: 3) }
    for _ in 0..<4 {
      #expect(host.verdict(5, policy) == .go)
      _ = host.begin()
    }
    #expect(host.verdict(5, policy) == .queue)
    #expect(
      host.answered(503, retryAfter: nil, begun: 5, now: 6, pause: 1, limit: 8)
        == .slowed(window: 2, rest: 0, status: 503))
  }

  @Test func theWindowWidensByOneForEachWindowOfAnswers() {
    var host = proven()
    for _ in 0..<4 { _ = host.begin() }
    _ = host.answered(503, retryAfter: nil, begun: 1, now: 1, pause: 1, limit: 8)
    #expect(host.window == 2)
    var answers = 0
    while host.window.isFinite, answers < 1000 {
      _ = host.answered(200, retryAfter: nil, begun: 2, now: 2, pause: 1, limit: 8)
      answers += 1
    }
    // 2 + 3 + … + 7, a little more as the window grows within each round.
    #expect((27...36).contains(answers), "\(answers)")
  }

  @Test func anHoursRestIsNotWaitedFor() {
    var host = proven()
    _ = host.answered(429, retryAfter: 3600, begun: 1, now: 1, pause: 1, limit: 8)
    guard case .refuse(let failure) = host.verdict(2, policy) else {
      Issue.record("\(host.verdict(2, policy))")
      return
    }
    #expect(failure.code == .rateLimited && failure.retryAfter == 3599)
  }
}
