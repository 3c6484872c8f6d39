package import JobModel

/// Decides which requests may be sent now, by host, policy and transfer: circuit breaker, window and cool-down of each
/// host, connections, permits of transfers. A value; times are seconds of a clock that never goes back.
package struct Limiter: Sendable {
  private struct Host {
    var breaker = CircuitBreaker()
    /// For policies that say a number.
    var window = AIMDWindow()
    /// For those that leave it to the run; nil before the first of them asks.
    var found: ConcurrencyWindow?
    var pace = RequestPace()
    var inFlight = 0

    /// What the next run is to know of the host; nil where it is as good as new.
    var record: HostRecord? {
      guard breaker.openings > 0 || window.size.isFinite else { return nil }
      return HostRecord(
        openings: breaker.openings, isGivenUp: breaker.wasGivenUp,
        window: window.size.isFinite ? window.size : nil)
    }

    func hasRoom(_ limit: FlightLimit) -> Bool {
      limit == .auto ? found?.hasRoom(inFlight) ?? true : window.hasRoom(inFlight)
    }

    mutating func answered(
      _ status: Int, begun: Double, now: Double, rest: Double, _ policy: EffectivePolicy
    ) -> HostNews.Change? {
      let limit = policy.connectionsPerHost
      let change = CircuitBreaker.isOutage(status) ? nil : breaker.answered()
      guard Limiter.isTooMuch(status) else {
        guard status < 500 else { return change }
        let hasRecovered: Bool
        if let limit = limit.number {
          hasRecovered = window.widen(limit: limit)
        } else {
          pace.accepted(begun: begun, now: now)
          hasRecovered = found?.hasRecovered() ?? false
        }
        return hasRecovered ? change ?? .recovered : change
      }
      let isNarrower: Bool?
      if limit == .auto {
        let decrease = found?.refused(begun: begun, now: now, inFlight: inFlight)
        // What only a trial brought says nothing of how fast requests may come.
        if let decrease, decrease != .undone {
          pace.refused(begun: begun, now: now, longest: max(1, policy.retryMax))
        }
        isNarrower = decrease.map { $0 == .halved }
      } else {
        isNarrower = window.narrow(begun: begun, now: now, inFlight: inFlight)
      }
      guard let isNarrower, isNarrower || rest > 0 else { return change }
      return .slowed(window: size(limit), rest: rest, status: status)
    }

    func size(_ limit: FlightLimit) -> Int { limit == .auto ? found?.size ?? 0 : Int(window.size) }
  }

  private var hosts: [String: Host] = [:]
  var cooldowns = CooldownStore()
  /// Hosts that could not be reached while this machine had no network.
  package private(set) var unreachable: Set<String> = []
  private var connections: [AdmissionRequest.Share: ConnectionCount] = [:]
  /// All of them, under the job's own limits.
  private var jobConnections = ConnectionCount()
  private let jobLimits: JobLimits
  var permits: TransferPermits
  /// First requests to silent hosts: their transfers' permits are suspended.
  private var silent: Set<Int> = []
  private var news: [HostNews] = []
  private var lastID = 0
  /// Requests under way, to all hosts.
  private var inFlight = 0
  /// Requests that may be under way under `connections: auto`, to all hosts.
  private let capacity: Int
  /// What runs before found, by host.
  private var known: [String: Int]
  /// Hosts that answered requests of transfers which ask another one first, by that one.
  private var detours: [String: Set<String>] = [:]
  private let random: @Sendable () -> Double
  /// Seconds between two looks at a rate limit that is used up: it may be raised.
  private static let rateLook = 0.2

  /// - Parameters:
  ///   - random: 0 ..< 1.
  ///   - capacity: requests that files and memory allow at a time, where a policy leaves it to the run.
  ///   - limits: of the job, beside those of policies.
  ///   - known: what runs before found for hosts.
  package init(
    random: @escaping @Sendable () -> Double, capacity: Int = 256, limits: JobLimits = JobLimits(),
    known: [String: Int] = [:]
  ) {
    self.random = random
    self.capacity = max(1, min(capacity, limits.connectionsTotal?.number ?? .max))
    jobLimits = limits
    permits = TransferPermits(most: limits.transfers?.number ?? .max)
    self.known = known
  }

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
      guard isApart || reacquire(transfer) else { return .wait(until: nil) }
      guard decision == .go, hasRoom(request) else { return .full(until: nil) }
      if request.policy.connectionsPerHost == .auto,
        let until = hosts[request.host]?.pace.wait(now: now)
      {
        return .full(until: until)
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
    guard decision == .go, host.breaker.state == .closed, !host.hasRoom(policy.connectionsPerHost) else {
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
    let (total, perHost) = (request.policy.connectionsTotal, request.policy.connectionsPerHost)
    guard total != .auto || inFlight < capacity,
      jobConnections.hasRoom(
        for: request.host, total: jobLimits.connectionsTotal?.number ?? .max,
        perHost: jobLimits.connectionsPerHost?.number ?? .max)
    else { return false }
    return connections[request.share, default: ConnectionCount()].hasRoom(
      for: request.host, total: total.number ?? .max, perHost: perHost.number ?? .max)
  }

  private mutating func admit(_ request: AdmissionRequest, now: Double) -> RequestPermit {
    lastID += 1
    inFlight += 1
    hosts[request.host, default: Host()].inFlight += 1
    let isTrial = request.policy.connectionsPerHost == .auto && find(request, now: now)
    tell(request.host, hosts[request.host]?.breaker.begin(lastID))
    connections[request.share, default: ConnectionCount()].begin(request.host)
    jobConnections.begin(request.host)
    return RequestPermit(lastID, request, begun: now, isTrial: isTrial)
  }

  /// Counts a request that is sent in its host's window.
  ///
  /// - Returns: whether the host has yet to show that it takes so many.
  private mutating func find(_ request: AdmissionRequest, now: Double) -> Bool {
    let name = request.host
    guard var host = hosts[name] else { return false }
    let ceiling = min(
      capacity, request.transfer?.mostConnections ?? 64, jobLimits.connectionsPerHost?.number ?? .max)
    var found = host.found ?? ConcurrencyWindow(known: known[name], ceiling: ceiling)
    found.raise(ceiling: ceiling)
    found.admitted(inFlight: host.inFlight, now: now)
    host.pace.admitted(now: now)
    let isNew = host.found == nil
    host.found = found
    hosts[name] = host
    if let first = request.transfer?.host, first != name,
      detours[first, default: []].count < Self.mostDetours,
      detours[first, default: []].insert(name).inserted || isNew
    {
      setWindow(of: first)
    }
    if isNew { resized(name) }
    return found.isTrying
  }

  private static let mostDetours = 8

  /// Lets as many transfers in flight as the hosts that they ask take requests.
  private mutating func setWindow(of name: String) {
    let all = detours[name, default: []].union([name])
    guard let size = all.compactMap({ hosts[$0]?.found?.size }).max() else { return }
    permits.setWindow(size, of: name)
  }

  /// A host's window has changed.
  private mutating func resized(_ name: String) {
    guard let size = hosts[name]?.found?.size else { return }
    setWindow(of: name)
    for (first, others) in detours where others.contains(name) { setWindow(of: first) }
    news.append(HostNews(host: name, change: .sized(size), record: hosts[name]?.record))
  }

  /// What bounds the transfers of a policy that ask a host.
  ///
  /// - Parameter host: nil where it can't be told.
  func limit(_ policy: EffectivePolicy, host: String?) -> TransferPermits.Limit {
    if let most = policy.transfers.number { return .transfers(most) }
    // Whoever says how many connections there are says how many transfers keep them busy.
    let numbers = [policy.connectionsPerHost, policy.connectionsTotal].compactMap(\.number)
    if let most = numbers.min() { return .requests(most) }
    return .window(host: host ?? "")
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
    return reacquire(permit.request.transfer)
  }

  private mutating func reacquire(_ transfer: TransferPermit?) -> Bool {
    permits.reacquire(transfer?.id, holdsBuffers: transfer?.buffers.areHeld ?? false)
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
        status == 429 && policy.connectionsPerHost != .auto
        ? Backoff(policy).delay(afterAttempt: 1, retryAfter: nil, random: random()) : nil
      if let seconds = retryAfter ?? own {
        coolDown(name, for: seconds, now: now)
      }
      rest = cooldowns.current(.origin(name), now: now).map { $0.until - now } ?? 0
    }
    let size = hosts[name]?.found?.size
    let change = hosts[name, default: Host()].answered(
      status, begun: permit.begun, now: now, rest: rest, policy)
    tell(name, change)
    if hosts[name]?.found?.size != size { resized(name) }
  }

  /// A host is left alone for so many seconds, as it asks.
  mutating func coolDown(_ name: String, for seconds: Double, now: Double) {
    let failure = Failure(
      .rateLimited, "the host asked for a cool-down of \(Int(clamping: seconds)) s", retryAfter: seconds)
    cooldowns.note(.origin(name), until: now + seconds, failure)
  }

  private static func isTooMuch(_ status: Int) -> Bool { status == 429 || status == 503 }

  /// The request is over; `failure` where the host gave no answer of its own.
  ///
  /// - Parameter bytes: of its bodies, where it came to its own end.
  package mutating func ended(_ permit: RequestPermit, failure: Failure?, bytes: Int64? = nil, now: Double) {
    let request = permit.request
    inFlight -= 1
    permits.change(
      request.transfer?.id, from: silent.remove(permit.id) == nil ? request.use : .suspended, to: nil)
    connections[request.share]?.end(request.host)
    jobConnections.end(request.host)
    for limit in request.limits { limit.close() }
    hosts[request.host]?.inFlight -= 1
    if request.policy.connectionsPerHost == .auto, hosts[request.host]?.found != nil {
      let size = hosts[request.host]?.found?.size
      if failure?.isSilence == true {
        let inFlight = hosts[request.host]?.inFlight ?? 0
        _ = hosts[request.host]?.found?.refused(begun: permit.begun, now: now, inFlight: inFlight + 1)
      } else if failure != nil {
        // A gateway that reaches nobody: what was tried is undone, and the next failures are the host's own.
        hosts[request.host]?.found?.failed(begun: permit.begun, now: now)
      } else if let bytes {
        _ = hosts[request.host]?.found?.ended(begun: permit.begun, now: now, bytes: bytes)
      }
      if hosts[request.host]?.found?.size != size { resized(request.host) }
    }
    // What a host does not take beyond what it has taken is no outage.
    if let failure, !permit.isTrial || hosts[request.host]?.breaker.state != .closed {
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

  /// Whether any transfer's request to the host has.
  func hasFailed(_ name: String) -> Bool { hosts[name]?.breaker.hasFailures ?? false }

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
