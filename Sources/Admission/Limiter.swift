package import JobModel

/// Decides which requests may be sent now, by host, policy and transfer: circuit breaker, window and cool-down of each
/// host, connections, permits of transfers. A value; times are seconds of a clock that never goes back.
package struct Limiter: Sendable {
  private struct Host {
    var breaker = CircuitBreaker()
    var window = AIMDWindow()
    var inFlight = 0

    /// What the next run is to know of the host; nil where it is as good as new.
    var record: HostRecord? {
      guard breaker.openings > 0 || window.size.isFinite else { return nil }
      return HostRecord(
        openings: breaker.openings, isGivenUp: breaker.wasGivenUp,
        window: window.size.isFinite ? window.size : nil)
    }

    mutating func answered(
      _ status: Int, begun: Double, now: Double, rest: Double, limit: Int
    ) -> HostNews.Change? {
      let change = CircuitBreaker.isOutage(status) ? nil : breaker.answered()
      guard Limiter.isTooMuch(status) else {
        return status < 500 && window.widen(limit: limit) ? change ?? .recovered : change
      }
      guard let isNarrower = window.narrow(begun: begun, now: now, inFlight: inFlight),
        isNarrower || rest > 0
      else { return change }
      return .slowed(window: Int(window.size), rest: rest, status: status)
    }
  }

  private var hosts: [String: Host] = [:]
  var cooldowns = CooldownStore()
  /// Hosts that could not be reached while this machine had no network.
  package private(set) var unreachable: Set<String> = []
  private var connections: [AdmissionRequest.Share: ConnectionCount] = [:]
  var permits = TransferPermits()
  /// First requests to silent hosts: their transfers' permits are suspended.
  private var silent: Set<Int> = []
  private var news: [HostNews] = []
  private var lastID = 0
  private let random: @Sendable () -> Double
  /// Seconds between two looks at a rate limit that is used up: it may be raised.
  private static let rateLook = 0.2

  /// - Parameter random: 0 ..< 1.
  package init(random: @escaping @Sendable () -> Double) { self.random = random }

  /// Takes over what a run before knew of hosts.
  package mutating func recall(_ records: [String: HostRecord]) {
    for (name, record) in records where hosts[name] == nil {
      hosts[name] = Host(
        breaker: CircuitBreaker(openings: record.openings, wasGivenUp: record.isGivenUp),
        window: AIMDWindow(size: record.window))
    }
  }

  /// What became known since the last call.
  package mutating func takeNews() -> [HostNews] {
    guard !news.isEmpty else { return [] }
    defer { news = [] }
    return news
  }

  /// Decides about a request that has just come, or that waits.
  package mutating func decide(_ request: inout AdmissionRequest, now: Double) -> AdmissionDecision {
    let transfer = request.transfer
    let decision = hostDecision(request.host, request.policy, requester: transfer?.seq, now: now)
    switch decision {
    case .refuse(let failure):
      use(&request, nil)
      return .refuse(failure)
    case .waitForHost(let until):
      use(&request, .suspended)
      return .wait(until: until)
    case .go, .waitForRequest:
      // One that finds out whether the host is back takes no permit from others.
      let isApart = request.use == .suspended && isOpen(request.host) && permits.lacks(transfer?.id)
      if !isApart { use(&request, .working) }
      guard isApart || permits.reacquire(transfer?.id), decision == .go, hasRoom(request) else {
        return .wait(until: nil)
      }
      guard RateLimit.open(request.limits) else { return .wait(until: now + Self.rateLook) }
      if isApart { use(&request, nil) }
      return .go(admit(request, now: now))
    }
  }

  /// What a host's state says of a request, without its `connections` and its transfer's permit.
  ///
  /// - Parameter requester: the transfer that asks, by its place in the plan.
  package func hostDecision(
    _ name: String, _ policy: EffectivePolicy, requester: Int64?, now: Double
  ) -> HostDecision {
    if unreachable.contains(name) { return .waitForHost(until: nil) }
    if let (until, failure) = cooldowns.current(.origin(name), now: now) {
      return until - now <= Backoff(policy).longestRest ? .waitForHost(until: until) : .refuse(failure)
    }
    guard let host = hosts[name] else { return .go }
    let decision = host.breaker.decide(now, policy, requester: requester)
    guard decision == .go, host.breaker.state == .closed, !host.window.hasRoom(host.inFlight) else {
      return decision
    }
    return .waitForRequest
  }

  /// Says what the request does with its transfer's permit; nil where it is not to be sent any more.
  mutating func use(_ request: inout AdmissionRequest, _ use: TransferPermits.Use?) {
    permits.change(request.transfer?.id, from: request.use, to: use)
    request.use = use
  }

  private func hasRoom(_ request: AdmissionRequest) -> Bool {
    connections[request.share, default: ConnectionCount()].hasRoom(
      for: request.host, total: request.policy.connectionsTotal,
      perHost: request.policy.connectionsPerHost)
  }

  private mutating func admit(_ request: AdmissionRequest, now: Double) -> RequestPermit {
    lastID += 1
    hosts[request.host, default: Host()].inFlight += 1
    tell(request.host, hosts[request.host]?.breaker.begin(lastID))
    connections[request.share, default: ConnectionCount()].begin(request.host)
    return RequestPermit(lastID, request, begun: now)
  }

  private mutating func tell(_ name: String, _ change: HostNews.Change?) {
    if let change { news.append(HostNews(host: name, change: change, record: hosts[name]?.record)) }
  }

  /// Whether the request is the first one to its host, and others wait for its answer.
  package func isFirst(_ permit: RequestPermit) -> Bool {
    hosts[permit.request.host]?.breaker.state == .first(permit.id, isSilent: false)
  }

  /// A first request has had no answer for a moment: others may have its transfer's permit. False where it has had one.
  package mutating func isSilent(to permit: RequestPermit) -> Bool {
    guard hosts[permit.request.host]?.breaker.isSilent(to: permit.id) == true else { return false }
    silent.insert(permit.id)
    permits.change(permit.request.transfer?.id, from: .working, to: .suspended)
    return true
  }

  /// Whether the request's body may pass now: where the host was silent, its transfer must reacquire its permit.
  package mutating func resume(_ permit: RequestPermit) -> Bool {
    guard silent.remove(permit.id) != nil else { return true }
    permits.change(permit.request.transfer?.id, from: .suspended, to: .working)
    return permits.reacquire(permit.request.transfer?.id)
  }

  /// The host takes the request's body; whether others waited to hear from it.
  package mutating func connected(_ permit: RequestPermit) -> Bool {
    hosts[permit.request.host]?.breaker.connected() ?? false
  }

  /// The head of the response has come, which asks to wait for `retryAfter` seconds.
  package mutating func answered(_ permit: RequestPermit, status: Int, retryAfter: Double?, now: Double) {
    let (name, policy) = (permit.request.host, permit.request.policy)
    var rest = 0.0
    if Self.isTooMuch(status) {
      // A host that says that there are too many, but not for how long, is left alone for a moment.
      let own =
        status == 429 ? Backoff(policy).delay(afterAttempt: 1, retryAfter: nil, random: random()) : nil
      if let wish = retryAfter ?? own {
        let failure = Failure(
          .rateLimited, "the host asked for a rest of \(Int(clamping: wish)) s", retryAfter: wish)
        cooldowns.note(.origin(name), until: now + wish, failure)
      }
      rest = cooldowns.current(.origin(name), now: now).map { $0.until - now } ?? 0
    }
    let change = hosts[name, default: Host()].answered(
      status, begun: permit.begun, now: now, rest: rest, limit: policy.connectionsPerHost)
    tell(name, change)
  }

  private static func isTooMuch(_ status: Int) -> Bool { status == 429 || status == 503 }

  /// The request is over; `failure` where the host gave no answer of its own.
  package mutating func ended(_ permit: RequestPermit, failure: Failure?, now: Double) {
    let request = permit.request
    permits.change(
      request.transfer?.id, from: silent.remove(permit.id) == nil ? request.use : .suspended, to: nil)
    connections[request.share]?.end(request.host)
    for limit in request.limits { limit.close() }
    hosts[request.host]?.inFlight -= 1
    if let failure {
      let (backoff, random) = (Backoff(request.policy), random)
      let change = hosts[request.host]?.breaker.failed(
        failure, of: permit.id, by: request.transfer?.seq, now: now, policy: request.policy
      ) { backoff.delay(afterAttempt: $0, retryAfter: nil, random: random()) }
      tell(request.host, change)
    }
    hosts[request.host]?.breaker.ended(permit.id, now: now)
  }

  /// Whether the host gives no answer, and single requests find out whether it does again.
  package func isOpen(_ name: String) -> Bool {
    !unreachable.contains(name) && hosts[name]?.breaker.isOpen == true
  }

  /// Whether a transfer's request to the host has failed since its last answer.
  package func hasFailed(_ name: String, _ requester: Int64?) -> Bool {
    hosts[name]?.breaker.hasFailed(requester) ?? false
  }

  /// Whether the host has been asked for the first time, and its silence is short yet.
  package func isAwaited(_ name: String) -> Bool {
    guard !unreachable.contains(name), case .first(_, isSilent: false) = hosts[name]?.breaker.state else {
      return false
    }
    return true
  }

  /// This machine has no network, so that a host could not be reached; whether it is the first such host.
  package mutating func lostNetwork(to name: String) -> Bool {
    guard unreachable.insert(name).inserted else { return false }
    news.append(HostNews(host: name, change: .noNetwork))
    return unreachable.count == 1
  }

  package mutating func networkIsBack() {
    for name in unreachable.sorted() { news.append(HostNews(host: name, change: .networkBack)) }
    unreachable = []
  }
}
