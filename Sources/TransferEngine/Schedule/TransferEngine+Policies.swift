import Admission
import Endpoints
import JobLedger
package import JobModel

/// What policies say about time, money and failures, kept to while the engine runs.
extension TransferEngine {
  func key(_ transfer: LedgerTransfer) -> PolicyGroup.Key {
    if let known = keys[transfer.profile] { return known }
    let sharing = PolicyGroup.Sharing(transfer.settings)
    let key = sharings[sharing] ?? PolicyGroup.Key(number: sharings.count)
    sharings[sharing] = key
    keys[transfer.profile] = key
    return key
  }

  /// The group of a transfer, made when the first of it is met.
  func group(_ transfer: LedgerTransfer) throws -> PolicyGroup {
    let key = key(transfer)
    if let known = groups[key] { return known }
    let group = try PolicyGroup(
      transfer.settings, context: context, began: began, jobLimits: jobLimits,
      onSpent: { [weak self] in
        // Told amid a request; what it stops must not be pulled from under it.
        Task { await self?.look() }
      })
    group.look(now: context.clock.now(), overrides: limit)
    groups[key] = group
    if group.nextLook != nil || NetworkState.mayHold(group.policy) { watchTheClock() }
    if let hold = group.hold { tell(hold, group) }
    return group
  }

  /// Keeps a queued transfer back where its policy or its server says so.
  func keepBack(_ transfer: LedgerTransfer) throws -> Bool {
    let key = key(transfer)
    let group = try group(transfer)
    if let hold = group.hold {
      pause(transfer, hold)
      if hold.mayEnd { group.held.append(transfer.seq) }
      return true
    }
    guard !rests.isEmpty, let origin = origin(transfer), let until = rests[origin],
      until > context.clock.now()
    else { return false }
    let hold = Hold(.retries, until: until)
    if !resting.keys.contains(where: { $0.origin == origin }) {
      context.events(.held(by: origin, hold))
      context.board.setHold(hold, of: origin)
    }
    resting[Resting(origin: origin, group: key), default: []].append(transfer.seq)
    watchTheClock()
    pause(transfer, hold)
    return true
  }

  private func pause(_ transfer: LedgerTransfer, _ hold: Hold) {
    guard let next = StateMachine.next(transfer.state, .hold(hold.reason)) else { return }
    heldInTurn += 1
    context.writer.submit(.state(seq: transfer.seq, next.state))
    context.events(.state(id: transfer.id, from: transfer.state, to: next.state, failure: nil))
  }

  /// Rests on record. One that an earlier version believed for longer than a day is cut to a day from now, on record as
  /// well: else it would be as long in each run.
  func believedRests() throws -> [String: Double] {
    let longest = began + HTTPFailure.longestRetryAfter
    var rests = try context.ledger.rests(now: began)
    for (origin, until) in rests where until > longest {
      rests[origin] = longest
      context.writer.submit(.rest(origin: origin, until: longest))
    }
    return rests
  }

  func origin(_ transfer: LedgerTransfer) -> String? {
    (try? RemotePlace(transfer.remote, endpoints: context.endpoints))?.url.origin
  }

  /// Somebody is held for a time that this run waits for.
  var isWaiting: Bool {
    guard waits else { return false }
    // Whom a policy's hold keeps for longer than this run, such as its deadline, no server's rest is waited for.
    return releasing > 0 || resting.keys.contains { groups[$0.group]?.hold?.isWaitedFor ?? true }
      || groups.values.contains { !$0.held.isEmpty && $0.hold?.isWaitedFor ?? true }
  }

  private func watchTheClock() {
    if ticker == nil { ticker = Task(executorPreference: executor) { await self.tick() } }
  }

  /// Looks at the clock until the run ends: a minute apart at most, as it may be set, or the machine may sleep.
  private func tick() async {
    while !Task.isCancelled {
      let now = context.clock.now()
      let moments = groups.values.compactMap(\.nextLook) + resting.keys.compactMap { rests[$0.origin] }
      let longest =
        groups.values.contains { NetworkState.mayHold($0.policy) }
        ? 0.5 : groups.values.contains(where: \.hasBudget) ? 1.0 : 60
      let next = moments.min().map { max(0.05, min(longest, $0 - now)) } ?? longest
      do { try await context.transport.sleep(seconds: next) } catch { return }
      look()
    }
  }

  /// Brings all policies up to the moment.
  func look() {
    let now = context.clock.now()
    do {
      for (key, group) in groups {
        group.save(context.writer)
        let (hold, bandwidth) = (group.hold, group.bandwidth)
        group.look(now: now, overrides: limit)
        if group.bandwidth != bandwidth, limit == nil {
          context.events(.bandwidth(policy: group.name, group.bandwidth))
        }
        guard group.hold?.reason != hold?.reason else { continue }
        if let hold { release(group, from: hold.reason) }
        guard let hold = group.hold else { continue }
        tell(hold, group)
        for transfer in try queue.remove(key, context.ledger) where try !keepBack(transfer) { queue.reset() }
        for running in active.values where running.key == key { running.end(.hold(hold.reason)) }
        wake()
      }
      for (origin, until) in rests where until <= now {
        rests[origin] = nil
        let over = resting.filter { $0.key.origin == origin }
        guard !over.isEmpty else { continue }
        context.board.setHold(nil, of: origin)
        context.events(.released(by: origin, .retries))
        for (who, seqs) in over {
          resting[who] = nil
          giveBack(seqs, .retries)
        }
      }
    } catch { tickFault = error }
  }

  private func tell(_ hold: Hold, _ group: PolicyGroup) {
    context.events(.held(by: group.name, hold))
    if let message = context.network.message(hold.reason, group.policy) {
      let diagnostic = Diagnostic(.warning, message)
      context.writer.submit(.diagnostic(run: context.run, diagnostic))
      context.events(.diagnostic(diagnostic))
    }
    context.board.setHold(hold, of: group.name ?? "")
  }

  /// Gives back what waited for a hold's end.
  func release(_ group: PolicyGroup, from reason: TransferState.PauseReason) {
    if group.hold == nil {
      context.board.setHold(nil, of: group.name ?? "")
      context.events(.released(by: group.name, reason))
    }
    let seqs = group.held
    group.held = []
    giveBack(seqs, reason)
  }

  private func giveBack(_ seqs: [Int64], _ reason: TransferState.PauseReason) {
    releasing += 1
    Task(executorPreference: executor) { await self.requeue(seqs, reason) }
  }

  private func requeue(_ seqs: [Int64], _ reason: TransferState.PauseReason) async {
    do {
      // Behind the writes that paused them.
      try await context.writer.barrier()
      try context.ledger.requeue(seqs, pausedFor: reason)
    } catch { tickFault = error }
    releasing -= 1
    queue.reset()
    wake()
  }

  /// Takes what `haul limit` says; nil goes back to the policies.
  package func setLimit(_ limit: Bandwidth?) {
    self.limit = limit
    setJobLimits()
    look()
    context.events(.bandwidth(policy: nil, limit))
  }

  func setJobLimits() {
    jobLimits.down.set(limit?.download ?? .unlimited)
    jobLimits.up.set(limit?.upload ?? .unlimited)
    context.board.setLimit(limit)
  }
}
