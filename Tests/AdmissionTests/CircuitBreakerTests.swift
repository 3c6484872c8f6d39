import JobModel
import Testing

@testable import Admission

struct CircuitBreakerTests {
  private let policy = EffectivePolicy()
  private let silence: Failure = {
    var failure = Failure(.networkUnreachable, "refused")
    failure.isUnconnected = true
    return failure
  }()

  private func closed() -> CircuitBreaker {
    var breaker = CircuitBreaker()
    _ = breaker.begin(0)
    _ = breaker.answered()
    breaker.ended(0, now: 0)
    return breaker
  }

  private func decide(_ breaker: CircuitBreaker, _ now: Double, _ requester: Int64? = nil)
    -> HostDecision
  {
    breaker.decide(now, policy, requester: requester)
  }

  /// A request fails; the back-off is as many seconds as failures.
  private func fail(
    _ breaker: inout CircuitBreaker, _ failure: Failure? = nil, of request: Int = 0,
    by requester: Int64? = nil, now: Double
  ) -> HostNews.Change? {
    breaker.failed(failure ?? silence, of: request, by: requester, now: now, policy: policy) {
      Double($0)
    }
  }

  @Test func aHostThatHasNotAnsweredGetsOneRequest() {
    var breaker = CircuitBreaker()
    #expect(decide(breaker, 0) == .go)
    #expect(breaker.begin(1) == nil)
    #expect(decide(breaker, 0) == .waitForHost(until: nil))
    #expect(breaker.answered() == nil)
    #expect(decide(breaker, 1) == .go && breaker.state == .closed)
  }

  @Test func aFirstRequestThatIsTakenBackLeavesTheNextToBeFirst() {
    var breaker = CircuitBreaker()
    _ = breaker.begin(1)
    breaker.ended(1, now: 0)
    #expect(breaker.state == .unproven && decide(breaker, 0) == .go)
  }

  @Test func aBodyThatIsTakenIsProofToo() {
    var breaker = CircuitBreaker()
    _ = breaker.begin(1)
    #expect(breaker.connected() == true)
    #expect(breaker.connected() == false)
    #expect(decide(breaker, 0) == .go)
  }

  @Test func onlyTheFirstRequestTellsOfSilence() {
    var breaker = CircuitBreaker()
    _ = breaker.begin(1)
    breaker.ended(1, now: 0)
    _ = breaker.begin(2)
    let (old, first) = (breaker.isSilent(to: 1), breaker.isSilent(to: 2))
    #expect(!old && first && breaker.state == .first(2, isSilent: true))
    #expect(breaker.isSilent(to: 2) == false)
    #expect(breaker.connected() == true)
  }

  @Test func itOpensProbesAndCloses() {
    var breaker = closed()
    for _ in 1..<CircuitBreaker.threshold {
      #expect(fail(&breaker, now: 1) == nil)
      #expect(decide(breaker, 1) == .go)
    }
    #expect(fail(&breaker, now: 1) == .opened(5, rest: 1))
    #expect(decide(breaker, 1) == .waitForHost(until: 2))
    #expect(decide(breaker, 6) == .go)
    #expect(breaker.begin(9) == .probing)
    #expect(decide(breaker, 6) == .waitForHost(until: nil))
    #expect(breaker.answered() == .closed)
    breaker.ended(9, now: 7)
    #expect(decide(breaker, 7) == .go)
  }

  /// Many requests at once that break are one try of the host, not as many.
  @Test func aBurstOfFailuresIsOneTry() {
    var breaker = closed()
    for request in 1...40 { _ = fail(&breaker, of: request, by: 1, now: 1) }
    #expect(decide(breaker, 1, 1) == .waitForHost(until: 2))
    _ = breaker.begin(50)
    // One that was under way all the time says nothing about the probe.
    #expect(fail(&breaker, of: 41, by: 1, now: 3) == nil)
    #expect(breaker.state == .probing(50))
  }

  @Test func anAnswerInBetweenStartsTheCountAnew() {
    var breaker = closed()
    for _ in 0..<20 {
      for _ in 1..<CircuitBreaker.threshold { _ = fail(&breaker, now: 1) }
      _ = breaker.answered()
    }
    #expect(breaker.state == .closed)
  }

  @Test func aProbeThatIsTakenBackLeavesTheNextToFindOut() {
    var breaker = CircuitBreaker()
    _ = breaker.begin(1)
    _ = fail(&breaker, of: 1, now: 0)
    breaker.ended(1, now: 0)
    #expect(decide(breaker, 1) == .go)
    _ = breaker.begin(2)
    breaker.ended(2, now: 1)
    #expect(decide(breaker, 1) == .go)
  }

  @Test func aDeadHostIsGivenUp() {
    var breaker = CircuitBreaker()
    var news: [HostNews.Change?] = []
    for attempt in 1...policy.retryAttempts {
      _ = breaker.begin(attempt)
      news.append(fail(&breaker, of: attempt, by: Int64(attempt), now: Double(attempt) * 100))
      breaker.ended(attempt, now: Double(attempt) * 100)
    }
    #expect(news.first == .opened(1, rest: 1) && news.last == .givenUp(8))
    guard case .refuse(let failure) = decide(breaker, 801) else {
      Issue.record("\(decide(breaker, 801))")
      return
    }
    #expect(failure.code == .networkUnreachable && failure.class == .deferred)
    // Its transfers are begun, so that they end; now and then one of them asks.
    #expect(decide(breaker, 800 + policy.retryMax) == .go)
  }

  /// What a run before tried without giving the host up is no try of this run.
  @Test func aRunCountsItsOwnTries() {
    var breaker = CircuitBreaker(openings: 8, wasGivenUp: false)
    for attempt in 1...policy.retryAttempts {
      let now = Double(attempt) * 100
      #expect(decide(breaker, now, 1) == .go)
      _ = breaker.begin(attempt)
      #expect(fail(&breaker, of: attempt, by: 1, now: now) != nil)
      breaker.ended(attempt, now: now)
    }
    guard case .refuse = decide(breaker, 801, 1) else {
      Issue.record("\(decide(breaker, 801, 1))")
      return
    }
  }

  /// A request that a connection was made for may have failed for its URL: others are asked before the host counts as
  /// given up again, and their answers open it.
  @Test(arguments: [
    Failure(.serverError, "HTTP 504", httpStatus: 504), Failure(.timeout, "no answer within 60 s"),
  ])
  func oneFileDoesNotGiveAHostUpAgain(_ failure: Failure) {
    for othersAnswer in [true, false] {
      var breaker = CircuitBreaker(openings: 8, wasGivenUp: true)
      var now = 0.0
      func ask(_ requester: Int64, isAnswered: Bool = false) {
        let request = Int(requester)
        #expect(breaker.begin(request) == .probing)
        if isAnswered {
          _ = breaker.answered()
        } else {
          _ = fail(&breaker, failure, of: request, by: requester, now: now)
        }
        breaker.ended(request, now: now)
      }
      ask(1)
      #expect(decide(breaker, now, 2) == .waitForHost(until: 1) && breaker.hasFailed(1))
      now = 1
      #expect(decide(breaker, now, 2) == .go)
      if case .refuse = decide(breaker, now, 1) {} else { Issue.record("it asks again itself") }
      ask(2, isAnswered: othersAnswer)
      if othersAnswer {
        #expect(decide(breaker, now, 3) == .go && breaker.openings == 0)
        continue
      }
      now = 3
      ask(3)
      guard case .refuse = decide(breaker, now, 4) else {
        Issue.record("\(decide(breaker, now, 4))")
        return
      }
    }
  }

  /// Some requests break for what they ask: who has not asked this host yet is let try, and its answer opens all.
  @Test func fewThatBreakDoNotSpeakForOthers() {
    var breaker = closed()
    for attempt in 1...20 {
      _ = breaker.begin(attempt)
      _ = fail(&breaker, of: attempt, by: Int64(attempt % 3 + 1), now: Double(attempt) * 100)
      breaker.ended(attempt, now: Double(attempt) * 100)
    }
    guard case .refuse = decide(breaker, 2001, 1) else {
      Issue.record("\(decide(breaker, 2001, 1))")
      return
    }
    // It opened with the fifth failure, and sixteen times since.
    let open = 2016.0
    #expect(
      decide(breaker, 2001, 9) == .waitForHost(until: open),
      "not as long as for a host that is given up for all")
    #expect(decide(breaker, open, 9) == .go)
    _ = breaker.begin(21)
    #expect(breaker.answered() == .closed)
    #expect(decide(breaker, open, 1) == .go && !breaker.hasFailed(1))
  }
}
