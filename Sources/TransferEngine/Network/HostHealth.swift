package import JobLedger
package import JobModel

/// How a host fares, and so how many requests at a time it gets: a circuit breaker, and a window that is halved when
/// the host says that it is too much and widened by one for each window of answers. A value; times are seconds.
package struct HostHealth: Sendable {
  package enum Breaker: Sendable, Hashable {
    /// Has not answered yet: one request at a time.
    case unproven
    case closed
    /// Does not answer: nothing is sent until then.
    case open(until: Double)
    /// One request finds out whether it answers again.
    case probing
  }

  package enum Verdict: Sendable, Hashable {
    case go
    /// A slot among the host's requests has to come free.
    case queue
    /// The host rests, until then where that is known.
    case rest(until: Double?)
    /// It rests for longer than this attempt is worth.
    case refuse(Failure)
  }

  /// What a gateway or a load balancer answers in the place of a host that it can't reach, or that is overloaded.
  package static func isOutage(_ status: Int) -> Bool { (502...504).contains(status) }

  /// Failures in a row that open the breaker of a host that has answered before.
  package static let threshold = 5

  /// Transfers that have to ask in vain before a host is given up again that takes connections: one URL may be at fault.
  package static let secondOpinions = 3

  /// A transfer that has not asked: places in the plan are positive.
  package static let newcomer: Int64 = 0

  package private(set) var breaker = Breaker.unproven
  /// Requests at a time; infinite where only the policy's limits count.
  package private(set) var window = Double.infinity
  package private(set) var restsUntil = 0.0
  package private(set) var inFlight = 0
  private var failures = 0
  /// Times in a row that the breaker opened: as far apart as one request's own tries, however many ask at once.
  private var openings = 0
  /// Transfers whose requests came to no answer since the last answer.
  private var unanswered: Set<Int64> = []
  private var lastFailure: Failure?
  private var lastDecrease = 0.0
  /// A run before gave the host up: a request that makes no connection, or few that come to no answer, speak for all.
  private var wasGivenUp = false

  package init() {}

  /// A host as a run left it a moment ago: one request finds out whether it answers again, at once.
  package init(_ record: HostRecord) {
    openings = record.openings
    wasGivenUp = record.isGivenUp
    window = record.window ?? .infinity
    if openings > 0 { breaker = .open(until: 0) }
  }

  /// What the next run is to know of it; nil where it is as good as new.
  package var record: HostRecord? {
    guard openings > 0 || window.isFinite else { return nil }
    return HostRecord(openings: openings, isGivenUp: wasGivenUp, window: window.isFinite ? window : nil)
  }

  /// Nothing new is to be begun for this host now: it rests, or shows first whether it is there. What would be refused
  /// is begun, so that it ends.
  package func isShut(_ now: Double, _ policy: EffectivePolicy) -> Bool {
    if case .rest = verdict(now, policy, asker: Self.newcomer) { true } else { false }
  }

  /// It does not answer, and one request now and then finds out whether it does again.
  package var isIll: Bool {
    switch breaker {
    case .open, .probing: true
    case .unproven, .closed: false
    }
  }

  /// Whether a transfer has asked in vain since the last answer.
  package func hasFailed(_ asker: Int64?) -> Bool { asker.map(unanswered.contains) ?? false }

  /// Tried as often in a row, and as far apart, as the policy tries one request; few tries say little about a host.
  private func isGivenUp(_ policy: EffectivePolicy) -> Bool {
    isIll && openings >= max(policy.retryAttempts, Self.threshold)
  }

  /// A host that others found dead is dead for a transfer that has asked itself, and for all once several have: one
  /// transfer's requests may break for what they ask, not for whom. What asks for no transfer only clears up.
  private func isDead(_ asker: Int64?, _ policy: EffectivePolicy) -> Bool {
    guard isGivenUp(policy), failures > 0 else { return false }
    return isDeadForAll || asker.map(unanswered.contains) ?? true
  }

  private var isDeadForAll: Bool {
    guard wasGivenUp else { return unanswered.count >= Self.threshold }
    return lastFailure?.isUnconnected == true || unanswered.count >= Self.secondOpinions
  }

  /// Whether a request may be sent now, without taking its place.
  ///
  /// - Parameter asker: the transfer that asks, by its place in the plan.
  package func verdict(_ now: Double, _ policy: EffectivePolicy, asker: Int64? = nil) -> Verdict {
    if restsUntil > now {
      let rest = restsUntil - now
      guard rest <= Backoff(policy).longestRest else {
        return .refuse(
          Failure(.rateLimited, "the host asked for a rest of \(Int(clamping: rest)) s", retryAfter: rest))
      }
      return .rest(until: restsUntil)
    }
    switch breaker {
    case .unproven: return inFlight == 0 ? .go : .rest(until: nil)
    case .closed: return Double(inFlight) < max(1, window.rounded(.down)) ? .go : .queue
    case .open(let until):
      // While one URL may be at fault, others are to ask.
      if now >= until {
        return wasGivenUp && isGivenUp(policy) && !isDeadForAll && hasFailed(asker) ? .refuse(dead) : .go
      }
      return isDead(asker, policy) ? .refuse(dead) : .rest(until: until)
    case .probing: return isDead(asker, policy) ? .refuse(dead) : .rest(until: nil)
    }
  }

  /// Takes the place of a request that `verdict` let go.
  ///
  /// - Returns: whether the request is the one that finds out about the host.
  package mutating func begin() -> (isProbe: Bool, news: HostNews.Change?) {
    inFlight += 1
    guard case .open = breaker else { return (false, nil) }
    breaker = .probing
    return (true, .probing)
  }

  /// The host takes bytes: it is there.
  package mutating func connected() { if breaker == .unproven { breaker = .closed } }

  /// An answer's head has come.
  ///
  /// - Parameters:
  ///   - retryAfter: seconds that the answer asked to wait.
  ///   - begun: when the request was sent.
  ///   - pause: seconds to rest where the host says that there are too many, but not for how long.
  package mutating func answered(
    _ status: Int, retryAfter: Double?, begun: Double, now: Double, pause: @autoclosure () -> Double,
    limit: Int
  ) -> HostNews.Change? {
    let news = Self.isOutage(status) ? nil : isThere()
    guard status == 429 || status == 503 else {
      guard window.isFinite, status < 500 else { return news }
      window += 1 / window
      guard window >= Double(limit) else { return news }
      window = .infinity
      return news ?? .recovered
    }
    if let wish = retryAfter ?? (status == 429 ? pause() : nil) { restsUntil = max(restsUntil, now + wish) }
    // What was under way when the window shrank says nothing new.
    guard begun >= lastDecrease else { return news }
    lastDecrease = now
    let before = window
    window = max(1, (min(window, Double(max(inFlight, 1))) / 2).rounded(.down))
    guard window < before || restsUntil > now else { return news }
    return .slowed(window: Int(window), rest: max(0, restsUntil - now), status: status)
  }

  /// It has answered for itself: whatever was counted against it is forgotten.
  private mutating func isThere() -> HostNews.Change? {
    failures = 0
    openings = 0
    wasGivenUp = false
    if !unanswered.isEmpty { unanswered = [] }
    lastFailure = nil
    let wasIll = isIll
    breaker = .closed
    return wasIll ? .closed : nil
  }

  /// A request came to no answer, or to one of an outage.
  ///
  /// - Parameters:
  ///   - asker: the transfer, by its place in the plan.
  ///   - backoff: seconds before try number n + 1 for n failures in a row.
  package mutating func failed(
    _ failure: Failure, by asker: Int64? = nil, isProbe: Bool = true, now: Double, policy: EffectivePolicy,
    backoff: (Int) -> Double
  ) -> HostNews.Change? {
    failures += 1
    if let asker { unanswered.insert(asker) }
    lastFailure = failure
    switch breaker {
    // What was still under way when the breaker opened adds nothing.
    case .open: return nil
    case .closed where failures < Self.threshold: return nil
    case .probing where !isProbe: return nil
    case .unproven, .closed, .probing: break
    }
    openings += 1
    breaker = .open(until: now)
    // One that a run before gave up is asked again by others, soon, before it counts as given up by this one.
    let isGivenUp = isGivenUp(policy) && (!wasGivenUp || isDeadForAll)
    let rest = isGivenUp ? policy.retryMax : backoff(wasGivenUp ? failures : openings)
    breaker = .open(until: now + rest)
    if isGivenUp, unanswered.count >= Self.threshold { wasGivenUp = true }
    return isGivenUp
      ? .givenUp(failures, status: failure.httpStatus)
      : .opened(failures, rest: rest, status: failure.httpStatus)
  }

  /// The request is over, whatever it came to.
  package mutating func end(isProbe: Bool, now: Double) {
    inFlight -= 1
    // Taken off before it found out: the next one finds out.
    if isProbe, breaker == .probing { breaker = .open(until: now) }
  }

  private var dead: Failure {
    var failure = lastFailure ?? Failure(.networkUnreachable, "the host does not answer")
    failure.class = .deferred
    // One wording for any number: transfers of one dead host are one cause.
    failure.message =
      "not tried: requests to this host that failed in a row: \(failures), the last: " + failure.message
    return failure
  }
}

/// What became known about a host.
package struct HostNews: Sendable, Hashable {
  package enum Change: Sendable, Hashable {
    /// Fewer requests at a time, and none for so many seconds.
    case slowed(window: Int, rest: Double, status: Int)
    /// The policy's limits count again.
    case recovered
    /// So many failures in a row, the last one with this status or without an answer: nothing is sent for so many seconds.
    case opened(Int, rest: Double, status: Int? = nil)
    case probing
    case closed
    /// So many failures in a row: its transfers are not tried any more, but for one now and then.
    case givenUp(Int, status: Int? = nil)
    /// This machine has no network: nothing is sent until it has one.
    case noNetwork
    case networkBack
  }
  /// Scheme, host and port.
  package var host: String
  package var change: Change
  /// What the next run is to know of the host; nil where nothing.
  package var record: HostRecord?
}

extension HostNews.Change {
  package var word: String {
    switch self {
    case .slowed: "slowed"
    case .recovered: "recovered"
    case .opened: "opened"
    case .probing: "probing"
    case .closed: "closed"
    case .givenUp: "given_up"
    case .noNetwork: "no_network"
    case .networkBack: "network_back"
    }
  }

  package var reason: String {
    switch self {
    case .slowed(let window, let rest, let status):
      "HTTP \(status): \(window) request\(window == 1 ? "" : "s") at a time"
        + (rest > 0 ? ", none for \(Self.seconds(rest)) s" : "")
    case .recovered: "answers well: the policy's limits count again"
    case .opened(let count, let rest, let status):
      "\(Self.failures(count, status)): nothing is sent for \(Self.seconds(rest)) s"
    case .probing: "one request finds out whether it answers again"
    case .closed: "answers again"
    case .givenUp(let count, let status):
      "\(Self.failures(count, status)): its transfers wait for the next attempt"
    case .noNetwork: "can't be reached, and this machine has no network: its transfers wait for one"
    case .networkBack: "this machine has a network again"
    }
  }

  private static func failures(_ count: Int, _ status: Int?) -> String {
    let last = status.map { "HTTP \($0)" } ?? "no answer"
    return count == 1 ? "a request got \(last)" : "\(count) requests in a row failed, the last got \(last)"
  }

  /// Without Foundation: tenths are enough.
  private static func seconds(_ value: Double) -> String { "\((value * 10).rounded() / 10)" }
}
