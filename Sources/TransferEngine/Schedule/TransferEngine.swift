import Admission
import Endpoints
import JobLedger
package import JobModel

/// Runs a plan: gives turns to what is queued, within the policies' limits, until nothing is left that can go on.
package actor TransferEngine {
  nonisolated let executor: any SerialExecutor & TaskExecutor
  package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  let context: EngineContext
  private let authenticator: Authenticator
  private let budget = BufferBudget()
  /// An id or a glob of ids: only these have a turn (`--only`).
  private let scope: Selection?
  private let failFast: Bool
  /// False for `--no-wait`: what is held for a time ends the run rather than being waited for.
  let waits: Bool
  var groups: [PolicyGroup.Key: PolicyGroup] = [:]
  /// By profile.
  var keys: [Int64: PolicyGroup.Key] = [:]
  var sharings: [PolicyGroup.Sharing: PolicyGroup.Key] = [:]
  let jobLimits = (down: RateLimit(), up: RateLimit())
  /// What `haul limit` says in place of the policies.
  var limit: Bandwidth?
  var began = 0.0
  /// Servers that asked for rest before this run began, and who waits for it.
  var rests: [String: Double] = [:]
  var resting: [Resting: [Int64]] = [:]
  struct Resting: Hashable {
    let origin: String
    let group: PolicyGroup.Key
  }
  /// Transfers that were held in this turn of the loop.
  var heldInTurn = 0
  var ticker: Task<Void, Never>?
  /// How many groups of held transfers are on their way back into the queue.
  var releasing = 0
  /// Every transfer that works on, with or without the network.
  var active: [Int64: Running] = [:]
  var queue: TurnQueue
  /// Profiles whose needs are not met, with what stands in the way.
  private var blocked: Set<Int64> = []
  private var blockedBy: [Int64: String] = [:]
  var needsMayBeMet = false
  private var isApplying = false
  /// What failed in an earlier attempt of the run has been put back into the queue.
  private var hasRequeued = false
  private(set) var stopCause: StopCause?
  var tickFault: (any Error)?
  private var wakeUp: CheckedContinuation<Void, Never>?
  private var isWoken = false
  /// Transfers that have their bytes and wait for a commit may be as many as this.
  private static let activeLimit = 256

  /// - Parameter limit: what `haul limit` said, if it holds.
  package init(
    _ context: EngineContext, scope: Selection?, failFast: Bool, waits: Bool = true, limit: Bandwidth? = nil
  ) {
    executor = context.transport.executor
    self.context = context
    authenticator = Authenticator(context)
    self.scope = scope
    queue = TurnQueue(prefix: scope?.prefix ?? "")
    self.failFast = failFast
    self.waits = waits
    self.limit = limit
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
    let key: PolicyGroup.Key
    let cancelPermit: () -> Void

    func end(_ event: TransferEvent) {
      stop.set(event)
      task.cancel()
      cancelPermit()
    }
  }

  /// Works until nothing is left to do now.
  ///
  /// - Throws: `LedgerError` where the plan can't be read or written.
  package func run() async throws {
    // A continuation resumes on the task's preferred executor before it goes back to its actor's.
    try await withTaskExecutorPreference(executor) { try await work() }
  }

  private func work() async throws {
    began = context.clock.now()
    rests = try believedRests()
    setJobLimits()
    defer { ticker?.cancel() }
    await context.admission.recall(try context.ledger.hostRecords(now: began))
    await context.admission.onOpening { [weak self] in self?.assumeIsolated { $0.wake() } }
    try await clearRetired()
    try StaleSnapshots.clear(context)
    try await settleNeeds()
    while stopCause == nil {
      if let tickFault { throw tickFault }
      try fill()
      if active.isEmpty, !isApplying {
        // Needs may have been met, or broken, by what ended last.
        if try await settleNeeds() { continue }
        // What is still queued waits for its host: the admission queue says when it may go on.
        guard stopCause == nil else { break }
        if !isWaiting, queue.isEmpty {
          guard try requeueFailed() else { break }
          try await settleNeeds()
          continue
        }
      }
      await pause()
      if needsMayBeMet { try await settleNeeds() }
    }
    while !active.isEmpty { await pause() }
    for group in groups.values { group.save(context.writer) }
    try await context.writer.barrier()
    try await clearIntended()
    try await holdRest()
  }

  /// Once all that had no turn yet has had it, what failed in the run's earlier attempts is tried again.
  private func requeueFailed() throws -> Bool {
    guard !hasRequeued else { return false }
    hasRequeued = true
    guard try context.ledger.requeueFailed(before: began, selecting: scope) else { return false }
    queue.reset()
    return true
  }

  /// Gives turns to queued transfers as far as the limits allow.
  private func fill() throws {
    heldInTurn = 0
    while stopCause == nil, !isApplying, active.count < Self.activeLimit {
      let next = try queue.next(
        context.ledger, blocked: blocked,
        key: { transfer in
          guard active[transfer.seq] == nil, scope?.includes(transfer.id) ?? true else { return nil }
          return TurnQueue.Key(group: key(transfer), host: origin(transfer))
        },
        state: { key in
          guard let group = groups[key.group] else { return .free }
          // What is held is read as well, a part at a time: it is to say so.
          if group.hold != nil { return heldInTurn < Self.mostHeldInTurn ? .free : .full }
          let policy = group.policy
          return context.admission.assumeIsolated {
            $0.outlook(group: key.group.number, host: key.host, policy)
          }
        })
      guard let next else { break }
      if try !keepBack(next) { try begin(next) }
    }
    // Others have their turn before a long plan is held to its end.
    if heldInTurn >= Self.mostHeldInTurn { wake() }
  }

  private static let mostHeldInTurn = 1000

  private func begin(_ transfer: LedgerTransfer) throws {
    let group = try group(transfer)
    let key = key(transfer)
    // At once, so that nothing that is read behind a barrier still finds it queued.
    context.writer.submit(.state(seq: transfer.seq, .running))
    let admission = context.admission
    let policy = group.policy
    let permit = admission.assumeIsolated {
      $0.begin(transfer.seq, group: key.number, policy) { [context] in
        (try? RemotePlace(transfer.remote, endpoints: context.endpoints))?.url.origin
      }
    }
    let release: @Sendable () -> Void = { admission.assumeIsolated { $0.end(permit) } }
    let live = LiveTransfer(seq: transfer.seq, id: transfer.id, direction: transfer.settings.direction)
    if let size = transfer.progress.size ?? transfer.knownSize { live.setSize(size) }
    let throttle = group.throttle
    let requester = { [context, authenticator] (endpoint: Endpoint?, remote: any RemoteProtocol) in
      Requester(
        context: context, authenticator: authenticator, endpoint: endpoint, remote: remote,
        settings: transfer.settings, throttle: throttle, transfer: permit, id: transfer.id, live: live,
        signed: SignedURL(transfer, context))
    }
    context.board.enter(live)
    let stop = StopFlag()
    let work: Work
    do {
      let place = try RemotePlace(transfer.remote, endpoints: context.endpoints)
      switch transfer.settings.direction {
      case .download:
        let remote = try place.download()
        let requests = requester(place.endpoint, remote.refusals)
        work = .download(
          Download(
            transfer, source: remote.source(requests), requester: requests, context: context,
            live: live, stop: stop))
      case .upload:
        let remote = try place.upload()
        let requests = requester(place.endpoint, remote.refusals)
        work = .upload(
          Upload(
            transfer, sink: remote.sink(requests), requester: requests, context: context,
            live: live, budget: budget, stop: stop))
      }
    } catch {
      let book = TransferRecord(transfer, context: context, stop: stop)
      book.begin()
      book.end(.failed(error))
      release()
      context.board.leave(transfer.seq)
      count(book.state, group)
      return
    }
    let task = Task(executorPreference: executor) { [self] in
      let state: TransferState
      switch work {
      case .download(let download):
        await download.run(release: release)
        state = await download.finalState
      case .upload(let upload):
        await upload.run(release: release)
        state = await upload.finalState
      }
      release()
      await ended(transfer, state)
    }
    active[transfer.seq] = Running(
      id: transfer.id, task: task, stop: stop, key: key,
      cancelPermit: { admission.assumeIsolated { $0.cancel(permit) } })
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
    queue.reset()
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
    queue.reset()
    wake()
    return changed
  }

  private enum Work {
    case download(Download)
    case upload(Upload)
  }

  private func ended(_ transfer: LedgerTransfer, _ state: TransferState) {
    active[transfer.seq] = nil
    // Only what stood in the way can open it.
    if blockedBy.values.contains(transfer.id) { needsMayBeMet = true }
    context.board.leave(transfer.seq)
    if let group = groups[key(transfer)] {
      count(state, group)
      // It was stopped for a hold that may end within the run, or has ended meanwhile.
      switch state {
      case .paused(let reason) where Hold.mayEnd(reason):
        group.held.append(transfer.seq)
        if group.hold?.reason != reason { release(group, from: reason) }
      case .queued, .running, .paused, .completed, .upToDate, .failed, .canceled, .skipped: break
      }
    }
    wake()
  }

  /// Counts an end for what stops a run at failures.
  private func count(_ state: TransferState, _ group: PolicyGroup) {
    let isEnough = group.count(state)
    if case .failed = state, isEnough || failFast { stop(.failFast) }
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
      queue.reset()
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

  /// Ends what the manifest no longer has, its remote sessions and its part files.
  private func clearRetired() async throws {
    let retirement = Retirement(context, authenticator)
    try Successors.inherit(context)
    for transfer in try context.ledger.retired() {
      if transfer.state != .canceled, let heir = try MovedSource.heir(of: transfer, context: context) {
        try context.ledger.handOver(from: transfer.seq, to: heir)
        context.writer.submit(.removed(seq: transfer.seq))
        continue
      }
      // What can't be ended now is tried again by the next run.
      guard await retirement.clear(transfer, isRetired: true).isOver else { continue }
      context.writer.submit(.removed(seq: transfer.seq))
    }
  }

  /// Ends sessions that were asked for without an answer, of transfers that nobody works on any more.
  private func clearIntended() async throws {
    let retirement = Retirement(context, authenticator)
    for transfer in try context.ledger.endedWithIntent() where stopCause == nil {
      _ = await retirement.clear(transfer, isRetired: false)
    }
  }
}
