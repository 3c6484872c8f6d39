package import JobModel

/// The one queue of requests that wait to be sent, around a `Limiter`. It hears of the begin, the response, the end and
/// the bytes of each request.
///
/// Runs on the transport's executor, so that nothing hops.
package actor AdmissionQueue {
  nonisolated private let executor: any SerialExecutor
  package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private struct Waiter {
    let id: Int
    let line: AdmissionRequest.Line
    var request: AdmissionRequest
    let continuation: CheckedContinuation<RequestPermit, any Error>
  }

  package nonisolated let rates: HostRates
  private nonisolated let now: @Sendable () -> Double
  private let sleep: @Sendable (Double) async throws -> Void
  private let hasNetwork: (@Sendable (_ origin: String) -> Bool)?
  private let report: @Sendable (HostNews) -> Void
  private var limiter: Limiter
  private var waiters: [Waiter] = []
  /// How many wait in each line.
  private var lines: [AdmissionRequest.Line: Int] = [:]
  private var lastWaiter = 0
  /// When those who wait for a host are looked at again.
  private var timers: [String: Double] = [:]
  /// Transfers that wait between two tries because a server asked for it.
  private var coolingDown: Set<Task<Void, any Error>> = []
  private var onOpening: (@Sendable () -> Void)?
  /// Seconds without an answer after which a host's first request leaves its transfer's permit to others.
  private static let patience = 0.5
  /// A transfer that has not asked yet: places in the plan are positive.
  private static let anyTransfer: Int64 = 0

  /// - Parameters:
  ///   - now: seconds of a clock that never goes back.
  ///   - random: 0 ..< 1.
  ///   - capacity: requests that files and memory allow at a time, where a policy leaves it to the run.
  ///   - limits: of the job, beside those of policies.
  ///   - known: what runs before found: requests at a time, by host.
  ///   - hasNetwork: whether this machine has a network for an origin; nil where a lost network is a failure like others.
  ///   - report: hears of each change, on the executor.
  package init(
    executor: any SerialExecutor, sleep: @escaping @Sendable (Double) async throws -> Void,
    now: @escaping @Sendable () -> Double, random: @escaping @Sendable () -> Double,
    rates: HostRates = HostRates(), capacity: Int = 256, limits: JobLimits = JobLimits(),
    known: [String: Int] = [:],
    hasNetwork: (@Sendable (_ origin: String) -> Bool)? = nil,
    report: @escaping @Sendable (HostNews) -> Void = { _ in }
  ) {
    self.executor = executor
    self.sleep = sleep
    self.now = now
    self.rates = rates
    self.hasNetwork = hasNetwork
    self.report = report
    limiter = Limiter(random: random, capacity: capacity, limits: limits, known: known)
  }

  /// Takes over what a run before knew of hosts.
  package func recall(_ records: [String: HostRecord]) { limiter.recall(records) }

  /// Sets what is called when transfers may begin that could not before.
  package func onOpening(_ call: @escaping @Sendable () -> Void) { onOpening = call }

  /// Waits until the request may be sent.
  ///
  /// - Throws: `Failure` where its host is not tried any more; `CancellationError`.
  package func enter(_ request: AdmissionRequest) async throws -> RequestPermit {
    var request = request
    let permit: RequestPermit
    switch limiter.decide(&request, now: now()) {
    case .go(let admitted):
      permit = admitted
      tell()
    case .refuse(let failure):
      update()
      throw failure
    case .wait(let until), .full(let until): permit = try await wait(request, until)
    }
    if limiter.isFirst(permit) { watchSilence(of: permit) }
    return permit
  }

  private func wait(_ request: AdmissionRequest, _ until: Double?) async throws -> RequestPermit {
    lastWaiter += 1
    let id = lastWaiter
    if let until { wake(request.host, at: until) }
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let line = request.line
        waiters.append(Waiter(id: id, line: line, request: request, continuation: continuation))
        lines[line, default: 0] += 1
        if Task.isCancelled { drop(id) }
        // What it waits for may have come before it was in the list.
        update()
      }
    } onCancel: {
      Task { await self.drop(id) }
    }
  }

  private func drop(_ id: Int) {
    guard let index = waiters.firstIndex(where: { $0.id == id }) else { return }
    var waiter = waiters.remove(at: index)
    leaveLine(waiter)
    limiter.use(&waiter.request, nil)
    waiter.continuation.resume(throwing: CancellationError())
    update()
  }

  /// The head of the response has come, which asks to wait for `retryAfter` seconds.
  package func answered(_ permit: RequestPermit, status: Int, retryAfter: Double?) {
    change(permit.request) {
      $0.answered(permit, status: status, retryAfter: retryAfter, now: now())
    }
  }

  /// The host takes or sends a body. It may pass unless the host was silent for so long that others have the transfer's
  /// permit: then the request is to end, and to be made again, which waits for one.
  package func mayMove(_ permit: RequestPermit) -> Bool {
    if limiter.connected(permit) { update(mayBegin: true) }
    return limiter.resume(permit)
  }

  /// The request is over; `failure` where the host gave no answer of its own, else the bytes of the bodies that count.
  ///
  /// - Parameter isWhole: it came to its own end.
  package func leave(
    _ permit: RequestPermit, failure: Failure?, received: Int64 = 0, sent: Int64 = 0, isWhole: Bool = false
  ) {
    let (host, now) = (permit.request.host, now())
    var failure = failure
    if failure?.code == .networkUnreachable, let hasNetwork, !hasNetwork(host) {
      // Not the host's fault, and no try of it.
      failure = nil
      if limiter.lostNetwork(to: host) { waitForNetwork() }
    }
    change(permit.request) {
      $0.ended(permit, failure: failure, bytes: isWhole ? received + sent : nil, now: now)
    }
    for (bytes, direction) in [(received, Direction.download), (sent, .upload)]
    where bytes >= HostRates.leastSample {
      guard let origin = permit.request.transfer?.origin() else { return }
      rates.measured(
        HostRate(origin: origin, direction: direction), bytes: bytes, seconds: now - permit.begun)
    }
  }

  /// Changes what is known of a request's host. Whoever was told that it is shut may hear something else then.
  private func change(_ request: AdmissionRequest, _ change: (inout Limiter) -> Void) {
    let before = limiter.hostDecision(
      request.host, request.policy, requester: Self.anyTransfer, now: now())
    change(&limiter)
    if case .waitForHost = before { update(mayBegin: true) } else { update() }
  }

  /// Admits who may go now, in the order of coming; but who has asked a host in vain comes after those who have not.
  private func serve() {
    guard !waiters.isEmpty else { return }
    if lines.keys.contains(where: { limiter.hasFailed($0.host) }) {
      waiters = waiters.filter { !hasFailed($0) } + waiters.filter(hasFailed)
    }
    let now = now()
    var full: Set<AdmissionRequest.Line> = []
    var served: [(index: Int, Result<RequestPermit, any Error>)] = []
    for index in waiters.indices {
      // Whoever waits for a host or a permit is to hear of any change; of those in line the first speaks for all.
      if waiters[index].request.use == .working, full.contains(waiters[index].line) {
        guard full.count == lines.count, limiter.permits.allAreHeld else { continue }
        break
      }
      switch limiter.decide(&waiters[index].request, now: now) {
      case .go(let permit): served.append((index, .success(permit)))
      case .refuse(let failure): served.append((index, .failure(failure)))
      case .wait(let until):
        if let until { wake(waiters[index].request.host, at: until) }
      case .full(let until):
        if let until { wake(waiters[index].request.host, at: until) }
        full.insert(waiters[index].line)
      }
    }
    guard !served.isEmpty else { return }
    let gone = served.map { (waiters[$0.index], $0.1) }
    for (index, _) in served.reversed() { leaveLine(waiters.remove(at: index)) }
    for (waiter, result) in gone { waiter.continuation.resume(with: result) }
  }

  private func leaveLine(_ waiter: Waiter) {
    let left = (lines[waiter.line] ?? 1) - 1
    lines[waiter.line] = left > 0 ? left : nil
  }

  private func hasFailed(_ waiter: Waiter) -> Bool {
    limiter.hasFailed(waiter.request.host, waiter.request.transfer?.seq)
  }

  /// Brings what changed to waiters, to those who hear news, and to whoever begins transfers.
  private func update(mayBegin: Bool = false) {
    var mayBegin = mayBegin
    repeat {
      if limiter.permits.takeFreed() { mayBegin = true }
      serve()
    } while limiter.permits.hasFreed
    if tell() || mayBegin { onOpening?() }
  }

  /// Reports news; whether there was any.
  @discardableResult
  private func tell() -> Bool {
    let news = limiter.takeNews()
    for one in news { report(one) }
    return !news.isEmpty
  }

  /// Looks at those who wait for the host again when its rest is over.
  private func wake(_ host: String, at time: Double) {
    guard timers[host].map({ $0 > time }) ?? true else { return }
    timers[host] = time
    Task {
      // A shutdown ends the sleep, and nobody waits any more.
      try await sleep(max(0, time - now()))
      guard timers[host] == time else { return }
      timers[host] = nil
      update(mayBegin: true)
    }
  }

  /// A host that has said nothing yet may be dead: others have its transfer's permit until it speaks.
  private func watchSilence(of permit: RequestPermit) {
    Task {
      try await sleep(Self.patience)
      if limiter.isSilent(to: permit) { update(mayBegin: true) }
    }
  }

  private func waitForNetwork() {
    Task {
      // None of them is this machine's own: one speaks for all.
      repeat { try await sleep(1) } while !limiter.unreachable.prefix(1).contains { hasNetwork?($0) ?? true }
      limiter.networkIsBack()
      update()
    }
  }

  /// A host asks in its answer to a request that has no permit to be left alone for so many seconds.
  package func coolDown(host: String, for seconds: Double) {
    limiter.coolDown(host, for: seconds, now: now())
    update()
  }

  /// Leaves an endpoint, or a host's cleanup requests, alone for so many seconds.
  package func coolDown(_ key: CooldownStore.Key, for seconds: Double, _ failure: Failure) {
    limiter.cooldowns.note(key, until: now() + seconds, failure)
  }

  /// Servers are asked again at once, whatever they asked for.
  package func endCooldowns() {
    limiter.cooldowns = CooldownStore()
    for pause in coolingDown { pause.cancel() }
    coolingDown = []
    update(mayBegin: true)
  }

  /// What was said, with the seconds that are left; nil where requests may be sent.
  package func cooldown(_ key: CooldownStore.Key) -> Failure? {
    limiter.cooldowns.current(key, now: now())?.failure
  }

  /// Whether a queued transfer may begin now. Whoever hears that it may not is called when that may have changed.
  package func outlook(group: Int, host: String?, _ policy: EffectivePolicy) -> TransferOutlook {
    guard limiter.permits.hasRoom(group, limiter.limit(policy, host: host)) else { return .full }
    guard let host,
      case .waitForHost(let until) = limiter.hostDecision(
        host, policy, requester: Self.anyTransfer, now: now())
    else { return .free }
    // One that has not asked yet finds out better than those that did in vain.
    if limiter.isOpen(host), !waiters.contains(where: { $0.request.host == host && !hasFailed($0) }) {
      return .free
    }
    if let until { wake(host, at: until) }
    return limiter.isAwaited(host) ? .awaited : .shut
  }

  /// Transfers that hold a permit.
  package var held: Int { limiter.permits.held }

  /// A transfer begins, and takes a permit.
  ///
  /// - Parameters:
  ///   - host: the one that it asks first, where that can be told.
  ///   - mostConnections: what `connections: auto` may come to at its endpoint.
  package func begin(
    _ seq: Int64, group: Int, host: String? = nil, mostConnections: Int = 64, _ policy: EffectivePolicy,
    origin: @escaping @Sendable () -> String?
  ) -> TransferPermit {
    limiter.permits.begin(
      seq, group: group, limiter.limit(policy, host: host), mostConnections: mostConnections, origin: origin)
  }

  /// The transfer is cancelled: what it still sends waits for no permit.
  package func cancel(_ transfer: TransferPermit) {
    limiter.permits.cancel(transfer.id)
    update()
  }

  /// The transfer needs the network no more.
  package func end(_ transfer: TransferPermit) {
    limiter.permits.end(transfer.id)
    update()
  }

  /// Waits before another try; others may have the transfer's permit meanwhile.
  ///
  /// - Parameter isCooldown: a server asked for it: it ends with all cool-downs.
  package func pause(_ transfer: TransferPermit?, seconds: Double, isCooldown: Bool = false) async throws {
    limiter.permits.change(transfer?.id, from: nil, to: .suspended)
    update()
    defer { limiter.permits.change(transfer?.id, from: .suspended, to: nil) }
    guard isCooldown else { return try await sleep(seconds) }
    let pause = Task { try await sleep(seconds) }
    coolingDown.insert(pause)
    let end = await withTaskCancellationHandler {
      await pause.result
    } onCancel: {
      pause.cancel()
    }
    guard coolingDown.remove(pause) != nil else { return try Task.checkCancellation() }
    try end.get()
  }
}
