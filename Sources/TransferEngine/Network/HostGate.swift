import Endpoints
import JobLedger
import JobModel

/// Stands before the network: lets requests through as their host and their policy's `connections` allow.
///
/// Runs on the transport's executor, so that nothing hops.
package actor HostGate {
  nonisolated private let executor: any SerialExecutor
  package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// A request that was let through. Not a structure, as it is handed on often.
  final class Pass: Sendable {
    let id: Int
    let host: String
    let use: ConnectionUse
    let asker: Int64?
    let policy: EffectivePolicy
    let isProbe: Bool
    /// Whether it has a transfer's place in flight: a host that is probed takes none from others.
    let isPlaced: Bool
    let begun: Double

    init(
      id: Int, host: String, use: ConnectionUse, asker: Int64?, policy: EffectivePolicy, isProbe: Bool,
      isPlaced: Bool, begun: Double
    ) {
      self.id = id
      self.host = host
      self.use = use
      self.asker = asker
      self.policy = policy
      self.isProbe = isProbe
      self.isPlaced = isPlaced
      self.begun = begun
    }
  }

  /// A request that waits: in line for a slot, or for its host to come back.
  private struct Waiter {
    let id: Int
    let host: String
    let use: ConnectionUse
    let asker: Int64?
    let policy: EffectivePolicy
    let isInLine: Bool
    let continuation: CheckedContinuation<Pass?, Never>
  }

  nonisolated let now: @Sendable () -> Double
  private let random: @Sendable () -> Double
  private let sleep: @Sendable (Double) async throws -> Void
  private let tell: @Sendable (HostNews) -> Void
  private var hosts: [String: HostHealth] = [:]
  /// Of requests that no transfer asks for.
  private var uses: [EffectivePolicy: ConnectionUse] = [:]
  private var waiters: [Waiter] = []
  private var timers: [String: Double] = [:]
  private var lastID = 0
  /// Requests that are the first ones to hosts which have said nothing yet, and whether their place is lent meanwhile.
  private var firsts: [Int: First] = [:]
  private struct First {
    let host: String
    var isLent = false
  }
  /// Seconds after which a host is silent, and holds no place that others could use.
  private static let patience = 0.5
  /// Hosts that could not be reached while this machine had no network.
  private var away: Set<String> = []
  /// Whether this machine has a network; nil where nobody waits for one.
  private let isThere: (@Sendable () -> Bool)?
  /// Called when a host that was shut may be so no longer.
  private var onOpening: (@Sendable () -> Void)?

  /// - Parameters:
  ///   - now: seconds of a clock that never goes back.
  ///   - random: 0 ..< 1.
  ///   - isThere: whether this machine has a network; nil where a lost network is a failure like others.
  ///   - tell: hears of each change, on the transport's executor.
  package init(
    transport: some Transport, now: @escaping @Sendable () -> Double,
    random: @escaping @Sendable () -> Double,
    isThere: (@Sendable () -> Bool)? = nil, tell: @escaping @Sendable (HostNews) -> Void
  ) {
    self.isThere = isThere
    executor = transport.executor
    self.now = now
    self.random = random
    self.tell = tell
    sleep = { try await transport.sleep(seconds: $0) }
  }

  /// Takes over what a run before knew of hosts that it did not ask freely.
  func recall(_ records: [String: HostRecord]) {
    for (host, record) in records where hosts[host] == nil { hosts[host] = HostHealth(record) }
  }

  func onOpening(_ call: @escaping @Sendable () -> Void) { onOpening = call }

  /// Nothing new is to be begun for this host (an origin) now. Who is told so is called when that may have changed.
  func isShut(_ host: String, _ policy: EffectivePolicy) -> Bool {
    if away.contains(host) { return true }
    guard let health = hosts[host],
      case .rest(let until) = health.verdict(now(), policy, asker: HostHealth.newcomer)
    else { return false }
    // One that has not asked yet is the better probe than those that did in vain.
    if health.isIll, !waiters.contains(where: { $0.host == host && !health.hasFailed($0.asker) }) {
      return false
    }
    if let until { wake(host, at: until) }
    return true
  }

  /// It has been asked for the first time, and its silence is short yet.
  func isAwaited(_ host: String) -> Bool {
    !away.contains(host) && hosts[host]?.breaker == .unproven
      && firsts.values.contains { $0.host == host && !$0.isLent }
  }

  /// Waits until the request may be sent.
  ///
  /// - Throws: `TransportError` where its host is not tried any more; `CancellationError`.
  func enter(_ host: String, _ policy: EffectivePolicy, _ slot: Slot?) async throws -> Pass {
    let (use, asker) = (slot?.connections ?? use(policy), slot?.seq)
    while true {
      await slot?.begin()
      let pass: Pass?
      switch verdict(host, use, asker, policy) {
      case .go:
        let pass = admit(host, use, asker, policy, isPlaced: true)
        if let slot, hosts[host]?.breaker == .unproven { lendIfSilent(pass, slot) }
        return pass
      case .refuse(let failure):
        slot?.end()
        throw TransportError(failure)
      case .queue:
        pass = await wait(host, use, asker, policy, isInLine: true)
        if let pass {
          if let slot, hosts[host]?.breaker == .unproven { lendIfSilent(pass, slot) }
          return pass
        }
        slot?.end()
      case .rest(let until):
        slot?.end()
        slot?.park()
        if let until { wake(host, at: until) }
        pass = await wait(host, use, asker, policy, isInLine: false)
        slot?.unpark()
        if let pass { return pass }
      }
      try Task.checkCancellation()
    }
  }

  /// The answer's head has come.
  func answered(_ pass: Pass, status: Int, retryAfter: Double?) {
    change(pass.host, pass.policy) {
      $0.answered(
        status, retryAfter: retryAfter, begun: pass.begun, now: now(),
        pause: Backoff(pass.policy).delay(afterAttempt: 1, retryAfter: nil, random: random()),
        limit: pass.policy.connectionsPerHost)
    }
  }

  /// The host takes the request's body.
  func connected(_ pass: Pass) {
    guard hosts[pass.host]?.breaker == .unproven else { return }
    change(pass.host, pass.policy) {
      $0.connected()
      return nil
    }
  }

  /// Whether a body may pass now: where the place was lent while the host was silent, the transfer takes it back.
  ///
  /// - Returns: false where others have it; the request is to end, and to be made again once there is a place.
  func takesBack(_ pass: Pass, _ slot: Slot?) -> Bool {
    guard let slot, firsts[pass.id]?.isLent == true else { return true }
    firsts[pass.id]?.isLent = false
    return slot.reclaim()
  }

  /// The request is over; `failure` where the host gave no answer of its own.
  func leave(_ pass: Pass, _ slot: Slot?, failure: Failure?) {
    if firsts.removeValue(forKey: pass.id)?.isLent == true {
      slot?.unpark()
    } else if pass.isPlaced {
      slot?.end()
    }
    pass.use.end(pass.host)
    let backoff = Backoff(pass.policy)
    var failure = failure
    if failure?.code == .networkUnreachable, let isThere, !Self.isHere(pass.host), !isThere() {
      // Not the host's fault, and no try of it.
      failure = nil
      waitForNetwork(pass.host)
    }
    change(pass.host, pass.policy) { host in
      let news = failure.flatMap { failure in
        host.failed(failure, by: pass.asker, isProbe: pass.isProbe, now: now(), policy: pass.policy) {
          backoff.delay(afterAttempt: $0, retryAfter: nil, random: random())
        }
      }
      host.end(isProbe: pass.isProbe, now: now())
      return news
    }
  }

  /// This machine's own services need no network.
  private static func isHere(_ origin: String) -> Bool {
    guard let host = WebURL(origin)?.host else { return false }
    guard let address = IPAddress(host) else { return host == "localhost" || host.hasSuffix(".localhost") }
    return (try? AddressBlock("loopback"))?.contains(address) ?? false
  }

  private func use(_ policy: EffectivePolicy) -> ConnectionUse {
    if let known = uses[policy] { return known }
    let made = ConnectionUse()
    uses[policy] = made
    return made
  }

  private func verdict(
    _ host: String, _ use: ConnectionUse, _ asker: Int64?, _ policy: EffectivePolicy
  ) -> HostHealth.Verdict {
    if away.contains(host) { return .rest(until: nil) }
    let verdict = (hosts[host] ?? HostHealth()).verdict(now(), policy, asker: asker)
    guard verdict == .go else { return verdict }
    let isFree = use.total < policy.connectionsTotal && use.count(host) < policy.connectionsPerHost
    return isFree ? .go : .queue
  }

  /// A host that has said nothing yet may be dead: others have its transfer's place until it speaks.
  private func lendIfSilent(_ pass: Pass, _ slot: Slot) {
    firsts[pass.id] = First(host: pass.host)
    Task {
      try await sleep(Self.patience)
      guard firsts[pass.id]?.isLent == false, hosts[pass.host]?.breaker == .unproven else { return }
      firsts[pass.id]?.isLent = true
      slot.end()
      slot.park()
      // Others may have its place, and those of other hosts are looked for from now on.
      onOpening?()
    }
  }

  private func admit(
    _ host: String, _ use: ConnectionUse, _ asker: Int64?, _ policy: EffectivePolicy, isPlaced: Bool
  ) -> Pass {
    let (isProbe, news) = hosts[host, default: HostHealth()].begin()
    use.begin(host)
    lastID += 1
    if let news { tell(HostNews(host: host, change: news, record: hosts[host]?.record)) }
    return Pass(
      id: lastID, host: host, use: use, asker: asker, policy: policy, isProbe: isProbe, isPlaced: isPlaced,
      begun: now())
  }

  /// - Parameter policy: of the request that brought the news.
  private func change(
    _ host: String, _ policy: EffectivePolicy, _ change: (inout HostHealth) -> HostNews.Change?
  ) {
    // Whoever was told that it is shut may hear something else now.
    let wasShut = hosts[host]?.isShut(now(), policy) ?? false
    let news = change(&hosts[host, default: HostHealth()])
    if let news { tell(HostNews(host: host, change: news, record: hosts[host]?.record)) }
    if wasShut || news != nil { onOpening?() }
    if !waiters.isEmpty { serve() }
  }

  /// Lets through who may go, in the order of their coming; who waits for a host is told what became of it.
  private func serve() {
    var left: [Waiter] = []
    var served: [(CheckedContinuation<Pass?, Never>, Pass?)] = []
    for waiter in inTurn {
      switch verdict(waiter.host, waiter.use, waiter.asker, waiter.policy) {
      case .go where waiter.isInLine || isToBeProbed(waiter.host):
        let pass = admit(
          waiter.host, waiter.use, waiter.asker, waiter.policy, isPlaced: waiter.isInLine)
        served.append((waiter.continuation, pass))
      // It has to have its transfer's place again first; or its host is given up, which it finds out itself.
      case .go, .refuse: served.append((waiter.continuation, nil))
      case .queue where waiter.isInLine: left.append(waiter)
      case .queue: served.append((waiter.continuation, nil))
      // A host that fell ill while it stood in line: it waits aside from now on.
      case .rest where waiter.isInLine: served.append((waiter.continuation, nil))
      case .rest(let until):
        if let until { wake(waiter.host, at: until) }
        left.append(waiter)
      }
    }
    waiters = left
    for (continuation, pass) in served { continuation.resume(returning: pass) }
  }

  /// In the order of their coming, but who has asked an ill host in vain comes after those who have not.
  private var inTurn: [Waiter] {
    let isLate = { [hosts] (waiter: Waiter) in hosts[waiter.host]?.hasFailed(waiter.asker) ?? false }
    guard waiters.contains(where: isLate) else { return waiters }
    return waiters.filter { !isLate($0) } + waiters.filter(isLate)
  }

  private func isToBeProbed(_ host: String) -> Bool {
    if case .open = hosts[host]?.breaker { true } else { false }
  }

  private func wait(
    _ host: String, _ use: ConnectionUse, _ asker: Int64?, _ policy: EffectivePolicy, isInLine: Bool
  ) async -> Pass? {
    lastID += 1
    let id = lastID
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard !Task.isCancelled else { return continuation.resume(returning: nil) }
        waiters.append(
          Waiter(
            id: id, host: host, use: use, asker: asker, policy: policy, isInLine: isInLine,
            continuation: continuation))
        // What it waits for may have come before it was in the list.
        serve()
      }
    } onCancel: {
      Task { await self.drop(id) }
    }
  }

  private func waitForNetwork(_ host: String) {
    guard away.insert(host).inserted else { return }
    tell(HostNews(host: host, change: .noNetwork))
    guard away.count == 1 else { return }
    Task {
      repeat { try await sleep(1) } while isThere?() == false
      let all = away
      away = []
      for host in all.sorted() { tell(HostNews(host: host, change: .networkBack)) }
      onOpening?()
      serve()
    }
  }

  private func drop(_ id: Int) {
    guard let index = waiters.firstIndex(where: { $0.id == id }) else { return }
    waiters.remove(at: index).continuation.resume(returning: nil)
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
      onOpening?()
      serve()
    }
  }
}
