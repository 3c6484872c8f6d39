import Admission
import Endpoints
package import HTTPClient
package import JobLedger
package import JobModel
package import Maintenance
import Posix
package import Transfers

/// Runs a plan: gives turns to what is queued, within the policies' limits, until nothing is left that can go on.
package actor TransferEngine {
  nonisolated let executor: any SerialExecutor & TaskExecutor
  package nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private let context: TransferContext
  private let maintenance: MaintenanceContext
  /// Brings URLs that were renewed in row files into the ledger; nil where there are no rows.
  private let renewRows: (@Sendable () async -> Void)?
  /// Rows that the run was asked for alone; nil for all.
  private let selected: RowSet?
  private let failFast: Bool
  /// False for `--no-wait`: what is held for a time ends the run rather than being waited for.
  private let waits: Bool
  /// When it began, seconds since 1970.
  private let began: Double
  private let groups: PolicyGroups
  private var holds: Holds
  private var needs = NeedsGate()
  private var queue: TurnQueue
  /// Every transfer that works on, with or without the network.
  private var active: [Int64: RunningTransfer] = [:]
  /// What is known to be new for those that have needs.
  private var needsNews = NeedsNews.none
  /// Needs that may be met are not settled before that while others move, seconds of uptime: it takes at most a fifth of the time.
  private var settlesNeedsFrom = 0.0
  private var needsTimer: Task<Void, Never>?
  /// Transfers that were held in this turn of the loop.
  private var heldInTurn = 0
  /// How many groups of held transfers are on their way back into the queue.
  private var releasing = 0
  private var isApplying = false
  private var ticker: Task<Void, Never>?
  private var tickFault: (any Error)?
  private let signal = WakeSignal()
  /// Why the run ended early; nil where it came to its end.
  package private(set) var stopped: StopCause?
  /// So many may be in flight. Of others that have their bytes and wait for a commit, as many as these bounds and the sum of
  /// both allow: each costs memory.
  private static let (mostInFlight, waitingBounds, mostInAll) = (256, 32...128, 160)

  /// - Parameters:
  ///   - limit: what `haul limit` said, if it holds.
  ///   - opening: seconds of the attempt before this.
  package init(
    _ context: TransferContext, maintenance: MaintenanceContext, network: NetworkState, selected: RowSet?,
    failFast: Bool, waits: Bool = true, limit: Bandwidth? = nil, opening: Double = 0,
    renewRows: (@Sendable () async -> Void)? = nil
  ) {
    executor = context.client.transport.executor
    self.context = context
    self.maintenance = maintenance
    self.renewRows = renewRows
    self.selected = selected
    queue = TurnQueue(isSelective: selected != nil)
    self.failFast = failFast
    self.waits = waits
    began = context.client.clock.now()
    groups = PolicyGroups(context, network, began: began, opening: opening, limit: limit)
    holds = Holds(groups, RecordedCooldowns(), context)
  }

  /// Stops taking turns and requests; what is in flight is dropped to what was recorded.
  package func stop(_ cause: StopCause) {
    guard stopped == nil else { return }
    stopped = cause
    for running in active.values { running.end(.hold(cause.pause)) }
    signal.wake()
  }

  /// Works until nothing is left to do now.
  ///
  /// - Throws: `LedgerError` where the plan can't be read or written.
  package func run() async throws {
    // A continuation resumes on the task's preferred executor before it goes back to its actor's.
    try await withTaskExecutorPreference(executor) {
      do { try await work() } catch {
        await dropAll()
        throw error
      }
    }
  }

  /// Drops what is in flight to what was recorded, before whoever runs the engine closes what it records with.
  private func dropAll() async {
    for running in active.values { running.end(.hold(.interrupted)) }
    let patience = Task(executorPreference: executor) { await self.leaveBehind() }
    while !active.isEmpty { await signal.wait() }
    patience.cancel()
  }

  /// What hangs (a dead mount) is not waited for.
  private func leaveBehind() async {
    do { try await Task.sleep(for: .seconds(3)) } catch { return }
    active = [:]
    signal.wake()
  }

  private func work() async throws {
    // Told amid a request; what it stops must not be pulled from under it.
    groups.onSpent = { [weak self] in Task { await self?.look() } }
    holds = Holds(groups, try RecordedCooldowns(context.run.ledger, context.run.writer, now: began), context)
    defer {
      ticker?.cancel()
      needsTimer?.cancel()
    }
    await context.client.admission.recall(try context.run.ledger.hostRecords(now: began))
    await context.client.admission.onOpening { [weak self] in self?.assumeIsolated { $0.signal.wake() } }
    try await RetiredTransfers.clear(maintenance)
    try StaleSnapshots.clear(maintenance)
    try await settleStanding()
    try await settleNeeds()
    var hasRequeued = false
    while stopped == nil {
      if let tickFault { throw tickFault }
      while stopped == nil, mustSettleNeeds { try await settleNeeds() }
      if needsNews != .none { wakeToSettleNeeds() }
      try fill()
      if active.isEmpty, !isApplying {
        // Needs may have been met, or broken, by what ended last.
        if try await settleNeeds() { continue }
        guard stopped == nil else { break }
        // What is still queued waits for its host: the admission queue says when it may go on.
        if queue.isEmpty {
          // All that had no turn yet has had it, or waits for its time: what failed in the run's earlier attempts is tried
          // again, once.
          if !hasRequeued {
            hasRequeued = true
            if try context.run.ledger.requeueFailed(
              before: began, isSelective: selected != nil, telling: context.run.tell)
            {
              queue.reset()
              try await settleNeeds()
              continue
            }
          }
          guard isWaiting else {
            // Somebody may have come back while the needs were settled.
            if needsNews != .none { continue }
            break
          }
        }
      }
      await signal.wait()
    }
    while !active.isEmpty { await signal.wait() }
    groups.save()
    try await context.run.writer.barrier()
    try await RetiredTransfers.clearIntended(maintenance) { stopped != nil }
    if stopped == .failFast {
      // What it needs may have failed, and been what ended the run.
      try context.run.ledger.holdQueued(reason: .queued(.failFast), telling: context.run.tell)
    } else {
      try needs.holdRest(context.run.ledger, telling: context.run.tell)
    }
  }

  /// Somebody is held for a time that this run waits for.
  private var isWaiting: Bool { waits && (releasing > 0 || holds.areWaitedFor) }

  /// How many transfers may be worked on now.
  private var room: Int {
    let inFlight = min(Self.mostInFlight, context.client.admission.assumeIsolated { $0.held })
    let (least, most) = (Self.waitingBounds.lowerBound, Self.waitingBounds.upperBound)
    return inFlight + max(least, min(most, Self.mostInAll - inFlight))
  }

  /// Settles what is done and needs no turn of its own: of a job that runs each night, most.
  private func settleStanding() async throws {
    var pass = StandingPass(context, isSelective: selected != nil)
    let watched = holds.watched
    while stopped == nil, let settled = try await pass.next({ [holds] in try holds.mayLook($0) }) {
      for (sample, count) in settled { groups[groups.key(of: sample)]?.count(standing: count) }
    }
    if holds.watched != watched { watchTheClock() }
  }

  /// Gives turns to queued transfers as far as the limits allow.
  private func fill() throws {
    heldInTurn = 0
    let blocked = needs.blocked
    while stopped == nil, !isApplying, active.count < room {
      let next = try queue.next(
        context.run.ledger, blocked: blocked,
        key: { transfer in
          guard active[transfer.seq] == nil, selected?.contains(transfer.seq) ?? true else { return nil }
          return TurnQueue.Key(group: groups.key(of: transfer), host: origin(transfer))
        },
        state: { key in
          guard let group = groups[key.group] else { return .free }
          // What is held is read as well, a part at a time: it is to say so.
          if group.hold != nil { return heldInTurn < Self.mostHeldInTurn ? .free : .full }
          let policy = group.policy
          return context.client.admission.assumeIsolated {
            $0.outlook(group: key.group.number, host: key.host, policy)
          }
        })
      guard let next else { break }
      if try !keepBack(next) { try begin(next) }
    }
    // Others have their turn before a long plan is held to its end.
    if heldInTurn >= Self.mostHeldInTurn { signal.wake() }
  }

  /// Pauses a queued transfer where something holds it.
  private func keepBack(_ transfer: LedgerTransfer) throws -> Bool {
    let watched = holds.watched
    let hold = try holds.hold(transfer) { origin(transfer) }
    if holds.watched != watched { watchTheClock() }
    guard let hold else { return false }
    guard let next = StateMachine.next(transfer.state, .hold(hold.reason)) else { return true }
    heldInTurn += 1
    let failure = hold.reason == .retries ? noteCooldown(transfer, until: hold.until) : nil
    context.run.writer.submit(.state(seq: transfer.seq, next.state))
    context.run.events(.state(id: transfer.id, from: transfer.state, to: next.state, failure: failure))
    return true
  }

  /// Records why a transfer is paused that this run has not tried, unless an earlier try says it.
  private func noteCooldown(_ transfer: LedgerTransfer, until end: Double?) -> Failure? {
    var progress = transfer.progress
    guard progress.failure == nil, let end else { return progress.failure }
    let now = context.client.clock.now()
    progress.failure = Failure(
      .rateLimited, "the server asked for a Retry-After cool-down until \(Timestamp.text(end))")
    (progress.failedAt, progress.updatedAt) = (now, now)
    context.run.writer.submit(.progress(seq: transfer.seq, progress))
    return progress.failure
  }

  private func origin(_ transfer: LedgerTransfer) -> String? {
    (try? RemotePlace(transfer.remote, endpoints: context.endpoints))?.url.origin
  }

  private static let mostHeldInTurn = 1000

  private func begin(_ transfer: LedgerTransfer) throws {
    let (group, key) = (try groups.group(of: transfer).group, groups.key(of: transfer))
    // At once, so that nothing that is read behind a barrier still finds it queued.
    context.run.writer.submit(.state(seq: transfer.seq, .running))
    let (admission, policy) = (context.client.admission, group.policy)
    let host = origin(transfer)
    let mostConnections = RemotePlace.driver(transfer.remote, context.endpoints).abilities.mostConnections
    let permit = admission.assumeIsolated {
      $0.begin(
        transfer.seq, group: key.number, host: host, mostConnections: mostConnections, policy
      ) { [context] in
        (try? RemotePlace(transfer.remote, endpoints: context.endpoints))?.url.origin
      }
    }
    let release: @Sendable () -> Void = { admission.assumeIsolated { $0.end(permit) } }
    let live = LiveTransfer(seq: transfer.seq, id: transfer.id, direction: transfer.settings.direction)
    if let size = transfer.progress.size ?? transfer.knownSize { live.setSize(size) }
    context.board.enter(live)
    let stop = StopFlag()
    let throttle = group.throttle.telling { [weak self, seq = transfer.seq] in
      Task { await self?.pauseForBudget(seq) }
    }
    let work: TransferWork
    do {
      work = try TransferWork(
        transfer, context: context, throttle: throttle, permit: permit, renewRows: renewRows, live: live,
        stop: stop)
    } catch {
      let state = TransferWork.fail(transfer, context: context, stop: stop, error)
      release()
      context.board.leave(transfer.seq)
      count(state, group)
      return
    }
    let task = Task(executorPreference: executor) { [self] in
      let state = await work.run(release: release)
      release()
      await ended(transfer, state, hasFreed: throttle.endReservation())
    }
    active[transfer.seq] = RunningTransfer(
      task: task, stop: stop, group: key, source: groups.sourceKey(of: transfer),
      cancelPermit: { admission.assumeIsolated { $0.cancel(permit) } })
  }

  /// Applies what a user asks from another terminal.
  ///
  /// - Returns: how many transfers it changed.
  /// - Throws: `CancellationError` where the run was stopped before its end: whoever holds the run lock next applies the rest.
  package func apply(_ control: Control) async throws -> Int {
    let (changed, told) = try await applyAtOnce(control)
    try await recordEnds(of: told, by: control.event)
    return changed
  }

  private func applyAtOnce(_ control: Control) async throws -> (changed: Int, told: [Int64: StopFlag]) {
    // Nobody gets a turn meanwhile: what waits here may be paused or canceled by the next line.
    isApplying = true
    defer {
      isApplying = false
      needsNews = .mayHaveChanged
      signal.wake()
    }
    do { return try await change(control) } catch let error as LedgerError {
      // As whenever the plan can't be read: nothing can be begun.
      tickFault = error
      throw error
    }
  }

  private func change(_ control: Control) async throws -> (changed: Int, told: [Int64: StopFlag]) {
    var atRest: Set<Int64> = []
    var last: Int64? = 0
    queue.reset()
    let told = try tellActive(control)
    // The rest is changed in the ledger, where nobody works on it.
    while let seq = last {
      // A stop waits for no more than a page.
      if seq > 0, stopped != nil { throw CancellationError() }
      try await context.run.writer.barrier()
      let (page, next) = try context.run.ledger.matching(control.ids, after: seq, limit: Self.controlPage)
      let inFlight = Set(page.lazy.map(\.seq).filter { self.active[$0] != nil })
      for var transfer in page where told[transfer.seq] == nil && active[transfer.seq] == nil {
        if inFlight.contains(transfer.seq) {
          // It has ended while another one's session was.
          try await context.run.writer.barrier()
          guard let ended = try context.run.ledger.transfer(transfer.seq) else { continue }
          transfer = ended
        }
        if try await ControlApplier.apply(control, to: transfer, context: maintenance) {
          atRest.insert(transfer.seq)
        }
      }
      last = next
    }
    try await context.run.writer.barrier()
    let changed = told.count + atRest.count
    if case .retry = control.event {
      try context.run.ledger.forgetRests()
      holds.endCooldowns()
      await context.client.admission.endCooldowns()
      if changed > 0 { try context.run.ledger.requeueSkippedForNeeds(telling: context.run.tell) }
    }
    holds.forget(atRest)
    queue.reset()
    return (changed, told)
  }

  /// Ends what is in flight and meant, before anything is waited for.
  private func tellActive(_ control: Control) throws -> [Int64: StopFlag] {
    guard StateMachine.next(.running, control.event) != nil else { return [:] }
    let meant = try active.keys.filter { seq in
      try context.run.ledger.matching(control.ids, after: seq - 1, limit: 1).page.first?.seq == seq
    }
    for seq in meant { active[seq]?.end(control.event) }
    return active.filter { meant.contains($0.key) }.mapValues(\.stop)
  }

  /// Waits until the ends of what a control has told are on record: who asked counts on it, also after a kill. What hangs (a
  /// dead mount) is not waited for, and is recorded as what it is to become.
  ///
  /// - Throws: `CancellationError` where the run was stopped before.
  private func recordEnds(of told: [Int64: StopFlag], by event: TransferEvent) async throws {
    guard !told.isEmpty else { return }
    let end = SystemClock.uptime + Self.patience
    while !unended(told).isEmpty, SystemClock.uptime < end {
      guard stopped == nil, !Task.isCancelled else { throw CancellationError() }
      try? await Task.sleep(for: .milliseconds(20))
    }
    // What begins anew has its turn whatever is on record.
    if let next = StateMachine.next(.running, event), next.state != .queued(nil) {
      for seq in unended(told) { context.run.writer.submit(.state(seq: seq, next.state)) }
    }
    try await context.run.writer.barrier()
  }

  /// Those that are still worked on as they were told.
  private func unended(_ told: [Int64: StopFlag]) -> [Int64] {
    told.keys.filter { active[$0]?.stop === told[$0] }
  }

  /// Seconds that what a control ends is waited for: a server that is silent is asked to end a session for less.
  private static let patience = 3.0

  /// Rows that a control looks at between two commits.
  private static let controlPage = 1024

  /// - Parameter hasFreed: others may have bytes of a budget that were put aside for it.
  private func ended(_ transfer: LedgerTransfer, _ state: TransferState, hasFreed: Bool) {
    active[transfer.seq] = nil
    if needs.waits(for: transfer.id) { needsNews = max(needsNews, .mayBeMet) }
    // Begun anew behind the queue's cursor.
    if case .queued = state { queue.reset() }
    context.board.leave(transfer.seq)
    // Its policy may not have been told yet.
    if hasFreed || state == .paused(.budget) { look() }
    if let group = groups[groups.key(of: transfer)] {
      count(state, group)
    }
    if case .paused(let reason) = state, let holder = holds.holder(of: transfer, reason),
      let change = holds.add(transfer.seq, pausedFor: reason, holder)
    {
      take(change)
    }
    signal.wake()
  }

  /// Counts an end for what stops a run at failures.
  private func count(_ state: TransferState, _ group: PolicyGroup) {
    if group.count(state) || failFast && state == .failed { stop(.failFast) }
  }

  private var mustSettleNeeds: Bool {
    switch needsNews {
    case .none: false
    case .mayBeMet: active.isEmpty || SystemClock.uptime >= settlesNeedsFrom
    case .mayHaveChanged: true
    }
  }

  /// - Returns: whether somebody may have a turn now who could not before.
  @discardableResult
  private func settleNeeds() async throws -> Bool {
    needsNews = .none
    let begun = SystemClock.uptime
    try await context.run.writer.barrier()
    var outcome = try settleNeeds(isNew: true)
    var hasOpened = outcome.hasOpened
    while outcome.isUnfinished {
      // A stop, a control and what is in flight have their turn between two pages of what is skipped.
      try await context.run.writer.barrier()
      // A control is at its work, or has changed what is needed: all is looked at anew behind it.
      guard stopped == nil, !isApplying, needsNews != .mayHaveChanged else { return true }
      outcome = try settleNeeds(isNew: false)
      hasOpened = hasOpened || outcome.hasOpened
    }
    settlesNeedsFrom = SystemClock.uptime + 4 * (SystemClock.uptime - begun)
    return hasOpened
  }

  private func settleNeeds(isNew: Bool) throws -> NeedsGate.Outcome {
    let outcome = try needs.settle(
      context.run.ledger, isNew: isNew, now: context.client.clock.now(), telling: context.run.tell)
    if outcome.isNews { queue.reset() }
    return outcome
  }

  private func wakeToSettleNeeds() {
    guard needsTimer == nil else { return }
    let pause = max(0, settlesNeedsFrom - SystemClock.uptime)
    needsTimer = Task(executorPreference: executor) { await self.wake(after: pause) }
  }

  private func wake(after pause: Double) async {
    try? await context.client.transport.sleep(seconds: pause)
    needsTimer = nil
    signal.wake()
  }

  /// Looks at the clock for as long as a hold may begin or end.
  private func watchTheClock() {
    ticker?.cancel()
    ticker = Task(executorPreference: executor) { await self.tick() }
  }

  private func tick() async {
    while let pause = holds.pause {
      do { try await context.client.transport.sleep(seconds: pause) } catch { return }
      look()
    }
  }

  /// Brings all policies up to the moment.
  private func look() { for change in holds.look() { take(change) } }

  private func take(_ change: Holds.Change) {
    switch change {
    case .ended(let seqs, let reason):
      releasing += 1
      Task(executorPreference: executor) { await self.requeue(seqs, reason) }
    case .began(let key, let hold):
      do {
        for transfer in try queue.remove(key, context.run.ledger) where try !keepBack(transfer) {
          queue.reset()
        }
      } catch { tickFault = error }
      // A spent budget keeps bytes: whose bytes all went needs none, and waits for its answer alone.
      if hold.reason != .budget {
        for running in active.values where running.group == key || running.source == key {
          running.end(.hold(hold.reason))
        }
      }
      signal.wake()
    }
  }

  /// A transfer needs more bytes than its budget has left.
  private func pauseForBudget(_ seq: Int64) {
    look()
    guard let running = active[seq], groups[running.group]?.hold?.reason == .budget else { return }
    running.end(.hold(.budget))
  }

  private func requeue(_ seqs: [Int64], _ reason: TransferState.PauseReason) async {
    do {
      // Behind the writes that paused them.
      try await context.run.writer.barrier()
      try context.run.ledger.requeue(seqs, pausedFor: reason, telling: context.run.tell)
    } catch { tickFault = error }
    releasing -= 1
    needsNews = .mayHaveChanged
    queue.reset()
    signal.wake()
  }

  /// Takes what `haul limit` says; nil goes back to the policies.
  package func setLimit(_ limit: Bandwidth?) {
    groups.set(limit: limit)
    look()
    context.run.events(.bandwidth(policy: nil, limit))
  }
}
