import JobLedger
package import JobModel
import Protocols

/// Runs a plan: gives turns to what is queued, within the policies' limits, until nothing is left that can go on.
package actor TransferEngine {
  nonisolated private let executor: any SerialExecutor
  package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  let context: EngineContext
  private let authenticator: Authenticator
  private let budget = BufferBudget()
  /// An id or a glob of ids: only these have a turn (`--only`).
  private let scope: Scope?
  private let failFast: Bool
  private var slots = PolicySlots()
  private var keys: [Int64: PolicySlots.Key] = [:]
  /// Every transfer that works on, with or without the network.
  private(set) var active: [Int64: Running] = [:]
  var holds = Holds()
  var waiting: [Waiting] = []
  var cursor: Int64 = 0
  var reachedEnd = false
  /// Profiles whose needs are not met, with what stands in the way.
  private var blocked: Set<Int64> = []
  private var blockedBy: [Int64: String] = [:]
  var needsMayBeMet = false
  private var isApplying = false
  private(set) var stopCause: StopCause?
  private var failures = 0
  private var wakeUp: CheckedContinuation<Void, Never>?
  private var isWoken = false
  /// Transfers that have their bytes and wait for a commit may be as many as this.
  private static let activeLimit = 256
  private static let lookAhead = 4096

  package init(_ context: EngineContext, scope: Scope?, failFast: Bool) {
    executor = context.transport.executor
    self.context = context
    authenticator = Authenticator(secrets: context.secrets, executor: context.transport.executor)
    self.scope = scope
    self.failFast = failFast
  }

  /// Why the run ended early; nil where it came to its end.
  package var stopped: StopCause? { stopCause }

  /// Stops taking turns and requests; what is in flight is dropped to what was recorded.
  package func stop(_ cause: StopCause) {
    guard stopCause == nil else { return }
    stopCause = cause
    for running in active.values { running.end(.hold(cause.pause)) }
    wake()
  }

  /// A transfer that is worked on.
  struct Running {
    let id: String
    let task: Task<Void, Never>
    let stop: StopFlag
    let slot: Slot

    func end(_ event: TransferEvent) {
      stop.set(event)
      task.cancel()
      slot.cancel()
    }
  }

  /// A transfer that may have its turn, with the host that it will ask.
  struct Waiting {
    let transfer: LedgerTransfer
    let host: String?
  }

  /// Works until nothing is left to do now.
  ///
  /// - Throws: `LedgerError` where the plan can't be read or written.
  package func run() async throws {
    await context.gate?.onOpening { [self] in assumeIsolated { $0.wake() } }
    try await clearRetired()
    try await settleNeeds()
    while stopCause == nil {
      try fill()
      if active.isEmpty, !isApplying {
        // Needs may have been met, or broken, by what ended last.
        if try await settleNeeds() { continue }
        if waiting.contains(where: { isShut($0.host) }) {
          // All that is left waits for its host: nobody else would say that it may go on.
          try? await context.transport.sleep(seconds: 0.2)
          continue
        }
        guard holds.isWaiting, context.waits else { break }
      }
      await pause()
      if needsMayBeMet { try await settleNeeds() }
    }
    while !active.isEmpty { await pause() }
    try await context.writer.barrier()
    try await holdRest()
  }

  /// Gives turns to queued transfers as far as the limits allow.
  private func fill() throws {
    for slot in slots.takeReturning() { slot.granted() }
    while stopCause == nil, !isApplying, active.count < Self.activeLimit {
      if mayReadOn {
        let more = try context.ledger.queued(
          after: cursor, excluding: blocked.union(holds.excluded), limit: 256)
        cursor = more.last?.seq ?? cursor
        reachedEnd = more.isEmpty
        for transfer in more where active[transfer.seq] == nil && scope?.includes(transfer.id) ?? true {
          learn(transfer)
          if try isHeld(transfer) { continue }
          waiting.append(
            Waiting(
              transfer: transfer, host: ProtocolChoice.origin(of: transfer, endpoints: context.endpoints)))
        }
      }
      guard let index = waiting.firstIndex(where: mayBegin) else {
        // A page may hold nothing of the scope; what lies behind it has its turn all the same.
        if mayReadOn { continue }
        return
      }
      begin(waiting.remove(at: index).transfer)
    }
  }

  /// A little ahead; further where what was read waits for its hosts only, so that others have their turn.
  private var mayReadOn: Bool {
    guard !reachedEnd else { return false }
    if waiting.count < 64 { return true }
    return waiting.count < Self.lookAhead && waiting.allSatisfy { isShut($0.host) }
  }

  private func mayBegin(_ next: Waiting) -> Bool {
    slots.isFree(key(next.transfer), next.transfer.settings.policy) && !isShut(next.host)
  }

  private func isShut(_ host: String?) -> Bool {
    guard let host, let gate = context.gate else { return false }
    return gate.assumeIsolated { $0.isShut(host) }
  }

  func key(_ transfer: LedgerTransfer) -> PolicySlots.Key {
    if let known = keys[transfer.profile] { return known }
    let key = PolicySlots.key(transfer.settings)
    keys[transfer.profile] = key
    return key
  }

  private func begin(_ transfer: LedgerTransfer) {
    let key = key(transfer)
    slots.take(key)
    // At once, so that nothing that is read behind a barrier still finds it queued.
    context.writer.submit(.state(seq: transfer.seq, .running))
    let policy = transfer.settings.policy
    let slot = Slot(
      key, give: { [self] in assumeIsolated { $0.freed(key) } },
      take: { [self] slot in
        assumeIsolated {
          $0.slots.wish(slot, policy)
          $0.wake()
        }
      })
    let live = LiveTransfer(seq: transfer.seq, id: transfer.id, direction: transfer.settings.direction)
    let throttle = slots.throttle(key, transfer.settings.policy)
    let place = transfer.settings.direction == .download ? transfer.source : transfer.destination
    let requester = Requester(
      context: context, authenticator: authenticator,
      endpoint: ProtocolChoice.endpoint(place, endpoints: context.endpoints), settings: transfer.settings,
      throttle: throttle, slot: slot, id: transfer.id, live: live)
    context.board.enter(live)
    let stop = StopFlag()
    let work: Work
    do {
      switch transfer.settings.direction {
      case .download:
        let remote = try ProtocolChoice.download(place, endpoints: context.endpoints)
        work = .download(
          Download(transfer, remote: remote, requester: requester, context: context, live: live, stop: stop))
      case .upload:
        let remote = try ProtocolChoice.upload(place, endpoints: context.endpoints)
        work = .upload(
          Upload(
            transfer, remote: remote, requester: requester, context: context, live: live, budget: budget,
            stop: stop))
      }
    } catch {
      let book = TransferBook(transfer, context: context, stop: stop)
      book.begin()
      book.end(.failed(error))
      slot.release()
      context.board.leave(transfer.seq)
      if failFast { self.stop(.failFast) }
      return
    }
    let task = Task { [self] in
      let state: TransferState
      switch work {
      case .download(let download):
        await download.run { slot.release() }
        state = await download.finalState
      case .upload(let upload):
        await upload.run { slot.release() }
        state = await upload.finalState
      }
      slot.release()
      ended(transfer, state)
    }
    active[transfer.seq] = Running(id: transfer.id, task: task, stop: stop, slot: slot)
  }

  /// Applies what a user asks from another terminal.
  ///
  /// - Returns: how many transfers it changed.
  package func apply(_ control: Control) async throws -> Int {
    var changed = 0
    var last: Int64? = 0
    // Nobody gets a turn meanwhile: what waits here may be paused or canceled by the next line.
    isApplying = true
    defer { isApplying = false }
    waiting = []
    // What is in flight is told at once; the rest is changed in the ledger, where nobody works on it.
    try await context.writer.barrier()
    while let seq = last {
      let (page, next) = try context.ledger.matching(control.ids, after: seq, limit: 256)
      for transfer in page {
        if let running = active[transfer.seq] {
          guard StateMachine.next(.running, control.event) != nil else { continue }
          running.end(control.event)
          changed += 1
        } else if try await ControlShell.apply(
          control, to: transfer, context: context, authenticator: authenticator)
        {
          changed += 1
        }
      }
      last = next
    }
    try await context.writer.barrier()
    cursor = 0
    reachedEnd = false
    wake()
    return changed
  }

  private enum Work {
    case download(Download)
    case upload(Upload)
  }

  private func freed(_ key: PolicySlots.Key) {
    slots.free(key)
    wake()
  }

  private func ended(_ transfer: LedgerTransfer, _ state: TransferState) {
    active[transfer.seq] = nil
    // Only what stood in the way can open it.
    if blockedBy.values.contains(transfer.id) { needsMayBeMet = true }
    context.board.leave(transfer.seq)
    if case .failed = state {
      failures += 1
      if failFast { stop(.failFast) }
    }
    wake()
  }

  func wake() {
    isWoken = true
    wakeUp?.resume()
    wakeUp = nil
  }

  private func pause() async {
    await withCheckedContinuation { continuation in
      // Others may run on this actor before the continuation is made: what they said counts.
      if isWoken { continuation.resume() } else { wakeUp = continuation }
    }
    isWoken = false
  }

  /// Decides who must wait for whom, and skips what can't be had any more.
  ///
  /// - Returns: whether somebody may have a turn now who could not before.
  @discardableResult
  private func settleNeeds() async throws -> Bool {
    needsMayBeMet = false
    try await context.writer.barrier()
    let before = blocked
    blocked = []
    blockedBy = [:]
    var changed = false
    for profile in try context.ledger.waitingProfiles() {
      var obstacle: (id: String, state: TransferState)?
      for need in profile.settings.needs where obstacle == nil {
        obstacle = try context.ledger.obstacle(to: need, of: profile.id)
      }
      guard let obstacle else { continue }
      if obstacle.state.breaksNeed {
        try context.ledger.skipQueued(
          profile: profile.id, need: obstacle.id,
          failure: Failure(
            .needsFailed, "`\(obstacle.id)`, which this transfer needs, is \(obstacle.state.word)"),
          at: context.clock.now())
        changed = true
      } else {
        blocked.insert(profile.id)
        blockedBy[profile.id] = obstacle.id
      }
    }
    // What was skipped may stand in the way of others in turn.
    if changed { try await settleNeeds() }
    let opened = changed || !before.subtracting(blocked).isEmpty
    if opened || before.isEmpty && !blocked.isEmpty {
      // Those that may go now lie behind the cursor.
      cursor = 0
      reachedEnd = false
      waiting = []
    }
    return opened
  }

  /// What had no turn keeps its place, with the reason.
  private func holdRest() async throws {
    for profile in blocked {
      try context.ledger.settleQueued(profile: profile, to: .queued(.needs(blockedBy[profile] ?? "")))
    }
    if stopCause == .failFast { try context.ledger.holdQueued(reason: .queued(.failFast)) }
  }

  /// Ends what the manifest no longer has: its remote sessions and its part files.
  private func clearRetired() async throws {
    for transfer in try context.ledger.retired() {
      if let heir = try MovedSource.heir(of: transfer, context: context) {
        try context.ledger.handOver(from: transfer.seq, to: heir)
        context.writer.submit(.removed(seq: transfer.seq))
        continue
      }
      await Retirement.clear(transfer, context: context, authenticator: authenticator)
      context.writer.submit(.removed(seq: transfer.seq))
    }
  }
}
