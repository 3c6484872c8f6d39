package import JobModel

/// Keeps requests from a host that gives no answer, and lets single ones find out whether it answers again. A value;
/// times are seconds.
package struct CircuitBreaker: Sendable {
  package enum State: Sendable, Hashable {
    /// The host has not answered yet, and nobody asks it.
    case unproven
    /// The host's first request is under way, and others wait for its answer. It is silent once that takes a moment.
    case first(_ request: Int, isSilent: Bool)
    case closed
    /// The host does not answer: nothing is sent until then.
    case open(until: Double)
    /// One request finds out whether the host answers again.
    case probing(_ request: Int)
  }

  /// Whether a gateway or a load balancer answers so for a host that it can't reach, or that is overloaded.
  package static func isOutage(_ status: Int) -> Bool { (502...504).contains(status) }

  /// Failures in a row that open the breaker of a host that has answered before.
  package static let threshold = 5

  /// Transfers that must fail before a host is given up again that takes connections: one URL may be at fault.
  package static let secondOpinions = 3

  package private(set) var state = State.unproven
  private var failures = 0
  /// Times in a row that the breaker opened: as far apart as one request's own tries, however many ask at once.
  package private(set) var openings = 0
  /// Transfers whose requests got no answer since the last answer, by their places in the plan.
  private var unanswered: Set<Int64> = []
  private var lastFailure: Failure?
  /// A run before gave the host up: a request that makes no connection, or few that get no answer, speak for all.
  package private(set) var wasGivenUp = false

  package init() {}

  /// The breaker as a run left it a moment ago: one request finds out whether the host answers again, at once. Where the
  /// host was not given up, tries and back-off count anew, as `retry` does in each attempt of a run.
  package init(openings: Int, wasGivenUp: Bool) {
    self.openings = wasGivenUp ? openings : 0
    self.wasGivenUp = wasGivenUp
    if openings > 0 { state = .open(until: 0) }
  }

  package var isOpen: Bool {
    switch state {
    case .open, .probing: true
    case .unproven, .first, .closed: false
    }
  }

  /// Whether a transfer's request has failed since the last answer.
  package func hasFailed(_ requester: Int64?) -> Bool { requester.map(unanswered.contains) ?? false }

  /// Whether any transfer's request has.
  var hasFailures: Bool { !unanswered.isEmpty }

  /// Tried as often in a row, and as far apart, as the policy tries one request; few tries say little about a host.
  private func isGivenUp(_ policy: EffectivePolicy) -> Bool {
    isOpen && openings >= max(policy.retryAttempts, Self.threshold)
  }

  /// A host that others gave up is given up for a transfer that has asked itself, and for all once several have: one
  /// transfer's requests may break for what they ask, not for whom. What asks for no transfer only clears up.
  private func isGivenUp(for requester: Int64?, _ policy: EffectivePolicy) -> Bool {
    guard isGivenUp(policy), failures > 0 else { return false }
    return isGivenUpForAll || requester.map(unanswered.contains) ?? true
  }

  private var isGivenUpForAll: Bool {
    guard wasGivenUp else { return unanswered.count >= Self.threshold }
    return lastFailure?.isUnconnected == true || unanswered.count >= Self.secondOpinions
  }

  /// Whether a request may be sent now.
  ///
  /// - Parameter requester: the transfer that asks, by its place in the plan.
  package func decide(_ now: Double, _ policy: EffectivePolicy, requester: Int64?) -> HostDecision {
    switch state {
    case .unproven, .closed: return .go
    case .first: return .waitForHost(until: nil)
    case .open(let until) where now >= until:
      // While one URL may be at fault, others are to ask.
      return wasGivenUp && isGivenUp(policy) && !isGivenUpForAll && hasFailed(requester)
        ? .refuse(refusal) : .go
    case .open(let until):
      return isGivenUp(for: requester, policy) ? .refuse(refusal) : .waitForHost(until: until)
    case .probing: return isGivenUp(for: requester, policy) ? .refuse(refusal) : .waitForHost(until: nil)
    }
  }

  private var refusal: Failure {
    var failure = lastFailure ?? Failure(.networkUnreachable, "the host does not answer")
    failure.class = .deferred
    // One wording for any number: transfers of one dead host are one cause.
    failure.message =
      "not tried: requests to this host that failed in a row: \(failures), the last: " + failure.message
    return failure
  }

  /// A request is sent that `decide` let go.
  package mutating func begin(_ request: Int) -> HostNews.Change? {
    switch state {
    case .unproven: state = .first(request, isSilent: false)
    case .open:
      state = .probing(request)
      return .probing
    case .first, .closed, .probing: break
    }
    return nil
  }

  /// The host's first request has had no answer for a moment; false where it has, or another request is the first now.
  package mutating func isSilent(to request: Int) -> Bool {
    guard state == .first(request, isSilent: false) else { return false }
    state = .first(request, isSilent: true)
    return true
  }

  /// The host takes a body: it is there; whether that was not known.
  package mutating func connected() -> Bool {
    guard case .first = state else { return false }
    state = .closed
    return true
  }

  /// The host has answered for itself: whatever was counted against it is forgotten.
  package mutating func answered() -> HostNews.Change? {
    let wasOpen = isOpen
    failures = 0
    openings = 0
    wasGivenUp = false
    if !unanswered.isEmpty { unanswered = [] }
    lastFailure = nil
    state = .closed
    return wasOpen ? .closed : nil
  }

  /// A request got no answer, or one of an outage.
  ///
  /// - Parameters:
  ///   - requester: the transfer, by its place in the plan.
  ///   - backoff: seconds before try number n + 1 for n failures in a row.
  package mutating func failed(
    _ failure: Failure, of request: Int, by requester: Int64?, now: Double, policy: EffectivePolicy,
    backoff: (Int) -> Double
  ) -> HostNews.Change? {
    failures += 1
    if let requester { unanswered.insert(requester) }
    lastFailure = failure
    switch state {
    // What was still under way when the breaker opened adds nothing.
    case .open: return nil
    case .closed where failures < Self.threshold: return nil
    case .probing(let probe) where probe != request: return nil
    case .unproven, .first, .closed, .probing: break
    }
    openings += 1
    state = .open(until: now)
    // One that a run before gave up is asked again by others, soon, before it counts as given up by this one.
    let isGivenUp = isGivenUp(policy) && (!wasGivenUp || isGivenUpForAll)
    // Where few have asked, the others find out soon, rather than wait for a host that may be dead.
    let rest = isGivenUp && isGivenUpForAll ? policy.retryMax : backoff(wasGivenUp ? failures : openings)
    state = .open(until: now + rest)
    if isGivenUp, unanswered.count >= Self.threshold { wasGivenUp = true }
    return isGivenUp
      ? .givenUp(failures, status: failure.httpStatus)
      : .opened(failures, rest: rest, status: failure.httpStatus)
  }

  /// The request is over, whatever became of it. One that ended before it found out leaves that to the next one.
  package mutating func ended(_ request: Int, now: Double) {
    switch state {
    case .first(request, _): state = .unproven
    case .probing(request): state = .open(until: now)
    case .unproven, .first, .closed, .open, .probing: break
    }
  }
}
