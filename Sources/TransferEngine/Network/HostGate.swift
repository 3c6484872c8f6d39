import JobModel
import Protocols

/// Stands before the network: lets requests through as their host and their policy's `connections` allow.
///
/// Runs on the transport's executor, so that nothing hops.
package actor HostGate {
  nonisolated private let executor: any SerialExecutor
  package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  /// A request that was let through.
  struct Pass: Sendable {
    let host: String
    let key: PolicySlots.Key
    let policy: EffectivePolicy
    let isProbe: Bool
    /// Whether it has a transfer's place in flight: a host that is probed takes none from others.
    let isPlaced: Bool
    let begun: Double
  }

  /// A request that waits: in line for a slot, or for its host to come back.
  private struct Waiter {
    let id: Int
    let host: String
    let key: PolicySlots.Key
    let policy: EffectivePolicy
    let isInLine: Bool
    let continuation: CheckedContinuation<Pass?, Never>
  }

  private struct Use {
    var total = 0
    var perHost: [String: Int] = [:]
  }

  private let now: @Sendable () -> Double
  private let random: @Sendable () -> Double
  private let sleep: @Sendable (Double) async throws -> Void
  private let tell: @Sendable (HostNews) -> Void
  private var hosts: [String: HostHealth] = [:]
  private var uses: [PolicySlots.Key: Use] = [:]
  private var waiters: [Waiter] = []
  private var timers: [String: Double] = [:]
  private var lastID = 0
  /// Hosts that could not be reached while this machine had no network.
  private var away: Set<String> = []
  /// Whether this machine has a network; nil where nobody waits for one.
  private let isThere: (@Sendable () -> Bool)?
  /// Called when a host is no longer shut.
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

  func onOpening(_ call: @escaping @Sendable () -> Void) { onOpening = call }

  /// Nothing new is to be begun for this host (an origin) now.
  func isShut(_ host: String) -> Bool {
    away.contains(host) || hosts[host]?.isShut(now()) ?? false
  }

  /// Waits until the request may be sent.
  ///
  /// - Throws: `TransportError` where its host is not tried any more; `CancellationError`.
  func enter(_ host: String, _ policy: EffectivePolicy, _ slot: Slot?) async throws -> Pass {
    let key = slot?.key ?? .inline(policy)
    while true {
      await slot?.begin()
      let pass: Pass?
      switch verdict(host, key, policy) {
      case .go: return admit(host, key, policy, isPlaced: true)
      case .refuse(let failure):
        slot?.end()
        throw TransportError(failure)
      case .queue:
        pass = await wait(host, key, policy, isInLine: true)
        if let pass { return pass }
        slot?.end()
      case .rest(let until):
        slot?.end()
        slot?.park()
        if let until { wake(host, at: until) }
        pass = await wait(host, key, policy, isInLine: false)
        slot?.unpark()
        if let pass { return pass }
      }
      try Task.checkCancellation()
    }
  }

  /// The answer's head has come.
  func answered(_ pass: Pass, status: Int, retryAfter: Double?) {
    let backoff = Backoff(pass.policy).delay(afterAttempt: 1, retryAfter: nil, random: random())
    change(pass.host) {
      $0.answered(
        status, retryAfter: retryAfter, begun: pass.begun, now: now(), pause: backoff,
        limit: pass.policy.connectionsPerHost)
    }
  }

  /// The host takes the request's body.
  func connected(_ pass: Pass) {
    guard hosts[pass.host]?.breaker == .unproven else { return }
    change(pass.host) {
      $0.connected()
      return nil
    }
  }

  /// The request is over; `failure` where the host gave no answer.
  func leave(_ pass: Pass, _ slot: Slot?, failure: Failure?) {
    if pass.isPlaced { slot?.end() }
    uses[pass.key]?.total -= 1
    uses[pass.key]?.perHost[pass.host, default: 1] -= 1
    let backoff = Backoff(pass.policy)
    var failure = failure
    if failure?.code == .networkUnreachable, let isThere, !isThere() {
      // Not the host's fault, and no try of it.
      failure = nil
      waitForNetwork(pass.host)
    }
    change(pass.host) { host in
      let news = failure.flatMap { failure in
        host.failed(failure, now: now(), policy: pass.policy) {
          backoff.delay(afterAttempt: $0, retryAfter: nil, random: random())
        }
      }
      host.end(isProbe: pass.isProbe, now: now())
      return news
    }
  }

  private func verdict(_ host: String, _ key: PolicySlots.Key, _ policy: EffectivePolicy)
    -> HostHealth.Verdict
  {
    if away.contains(host) { return .rest(until: nil) }
    let verdict = (hosts[host] ?? HostHealth()).verdict(now(), policy)
    guard verdict == .go, let use = uses[key] else { return verdict }
    let isFree =
      use.total < policy.connectionsTotal && use.perHost[host, default: 0] < policy.connectionsPerHost
    return isFree ? .go : .queue
  }

  private func admit(
    _ host: String, _ key: PolicySlots.Key, _ policy: EffectivePolicy, isPlaced: Bool
  ) -> Pass {
    let (isProbe, news) = hosts[host, default: HostHealth()].begin()
    uses[key, default: Use()].total += 1
    uses[key]?.perHost[host, default: 0] += 1
    if let news { tell(HostNews(host: host, change: news)) }
    return Pass(host: host, key: key, policy: policy, isProbe: isProbe, isPlaced: isPlaced, begun: now())
  }

  private func change(_ host: String, _ change: (inout HostHealth) -> HostNews.Change?) {
    let wasShut = isShut(host)
    if let news = change(&hosts[host, default: HostHealth()]) { tell(HostNews(host: host, change: news)) }
    if wasShut, !isShut(host) { onOpening?() }
    if !waiters.isEmpty { serve() }
  }

  /// Lets through who may go, in the order of their coming; who waits for a host is told what became of it.
  private func serve() {
    var left: [Waiter] = []
    var served: [(CheckedContinuation<Pass?, Never>, Pass?)] = []
    for waiter in waiters {
      switch verdict(waiter.host, waiter.key, waiter.policy) {
      case .go where waiter.isInLine || isToBeProbed(waiter.host):
        let pass = admit(waiter.host, waiter.key, waiter.policy, isPlaced: waiter.isInLine)
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

  private func isToBeProbed(_ host: String) -> Bool {
    if case .open = hosts[host]?.breaker { true } else { false }
  }

  private func wait(
    _ host: String, _ key: PolicySlots.Key, _ policy: EffectivePolicy, isInLine: Bool
  ) async -> Pass? {
    lastID += 1
    let id = lastID
    return await withTaskCancellationHandler {
      await withCheckedContinuation { continuation in
        guard !Task.isCancelled else { return continuation.resume(returning: nil) }
        waiters.append(
          Waiter(
            id: id, host: host, key: key, policy: policy, isInLine: isInLine, continuation: continuation))
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
