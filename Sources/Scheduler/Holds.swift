import HTTPClient
import JobLedger
import JobModel
import Transfers

/// What keeps queued transfers back for a time: their policy's hours, budget, deadline and network, and servers that asked
/// an earlier run for a cool-down. Tells of each hold once.
///
/// Belongs to the engine, which carries out what follows.
final class Holds {
  /// What a look at the clock came to.
  enum Change {
    case began(PolicyGroup.Key, Hold)
    /// These go back into the queue.
    case ended([Int64], TransferState.PauseReason)
  }

  let groups: PolicyGroups
  private let context: TransferContext
  private var cooldowns: RecordedCooldowns
  /// Counts what may bring the next look forward: groups, and cool-downs that somebody waits for.
  private(set) var watched = 0

  init(_ groups: PolicyGroups, _ cooldowns: RecordedCooldowns, _ context: TransferContext) {
    (self.groups, self.cooldowns, self.context) = (groups, cooldowns, context)
  }

  /// The hold that a queued transfer is under, which gives it back when it ends; nil where it may have its turn.
  ///
  /// - Parameter origin: of the server that it asks first.
  func hold(_ transfer: LedgerTransfer, origin: () -> String?) throws -> Hold? {
    for group in try bothGroups(of: transfer) {
      guard let hold = group.hold, !group.mayLook || transfer.progress.completedAt == nil else { continue }
      if hold.mayEnd { group.held.append(transfer.seq) }
      return hold
    }
    guard !cooldowns.isEmpty, let origin = origin(),
      let end = cooldowns.end(of: origin, now: context.client.clock.now())
    else { return nil }
    let hold = Hold(.retries, until: end)
    if cooldowns.wait(transfer.seq, for: origin, groups.key(of: transfer)) {
      watched += 1
      context.run.events(.held(by: origin, hold))
      context.board.setHold(hold, of: origin)
    }
    return hold
  }

  /// A transfer's own group, and that of a copy's source.
  private func bothGroups(of transfer: LedgerTransfer) throws -> [PolicyGroup] {
    var found = try [groups.group(of: transfer)]
    if let source = groups.sourceGroup(of: transfer) { found.append(source) }
    for (group, isNew) in found where isNew {
      watched += 1
      if let hold = group.hold { tell(hold, group) }
    }
    return found.map { $0.group }
  }

  /// Of the two, the one that a transfer at work was paused for.
  func holder(of transfer: LedgerTransfer, _ reason: TransferState.PauseReason) -> PolicyGroup? {
    let source = groups.sourceKey(of: transfer).flatMap { groups[$0] }
    return source?.hold?.reason == reason ? source : groups[groups.key(of: transfer)]
  }

  /// Whether what was completed may be looked at under this transfer's policy, as far as no server is asked.
  func mayLook(_ transfer: LedgerTransfer) throws -> Bool {
    try bothGroups(of: transfer).allSatisfy { $0.hold == nil || $0.mayLook }
  }

  /// A transfer that was at work has ended paused.
  func add(_ seq: Int64, pausedFor reason: TransferState.PauseReason, _ group: PolicyGroup) -> Change? {
    guard Hold.mayEnd(reason) else { return nil }
    guard group.hold?.reason == reason else {
      // The hold may have ended meanwhile, and others wait for the one that follows.
      guard reason == .budget, group.isShort else { return .ended([seq], reason) }
      group.short.append(seq)
      return nil
    }
    group.held.append(seq)
    return nil
  }

  /// A user has decided about these: nobody waits for them any more.
  func forget(_ seqs: Set<Int64>) {
    for group in groups.all.values {
      group.held.removeAll(where: seqs.contains)
      group.short.removeAll(where: seqs.contains)
    }
    cooldowns.forget(seqs)
  }

  /// A user wants servers to be asked again at once; the next look releases who waits for them.
  func endCooldowns() { cooldowns.endAll() }

  /// Somebody is held for a time that a run waits for.
  var areWaitedFor: Bool {
    // Whom a policy's hold keeps for longer than this run, such as its deadline, no server's cool-down is waited for.
    cooldowns.groups.contains { groups[$0]?.hold?.isWaitedFor ?? true }
      || groups.all.values.contains { !$0.held.isEmpty && $0.hold?.isWaitedFor ?? true }
  }

  /// Seconds until the next look; nil where none is ever needed.
  var pause: Double? {
    let cooldown = cooldowns.nextEnd
    guard
      cooldown != nil
        || groups.all.values.contains(where: { $0.nextLook != nil || NetworkState.mayHold($0.policy) })
    else { return nil }
    return groups.pause(now: context.client.clock.now(), cooldown: cooldown)
  }

  /// Brings all policies up to the moment.
  func look() -> [Change] {
    let now = context.client.clock.now()
    var changes: [Change] = []
    for (key, group) in groups.all {
      let (hold, bandwidth) = (group.hold, group.bandwidth)
      group.look(now: now, overrides: groups.limit)
      if group.bandwidth != bandwidth, groups.limit == nil {
        context.run.events(.bandwidth(policy: group.name, group.bandwidth))
      }
      if !group.short.isEmpty, !group.isShort {
        changes.append(.ended(group.short, .budget))
        group.short = []
      }
      guard group.hold?.reason != hold?.reason else { continue }
      // At its deadline who waits goes on waiting: the next run gives them back.
      if let hold, group.hold?.reason != .deadline { changes.append(release(group, from: hold.reason)) }
      if let hold = group.hold {
        tell(hold, group)
        changes.append(.began(key, hold))
      }
    }
    for (origin, seqs) in cooldowns.takeEnded(now: now) {
      context.board.setHold(nil, of: origin)
      context.run.events(.released(by: origin, .retries))
      changes.append(.ended(seqs, .retries))
    }
    return changes
  }

  private func tell(_ hold: Hold, _ group: PolicyGroup) {
    context.run.events(.held(by: group.name, hold))
    if let message = group.message(hold) {
      context.run.remark(Diagnostic(.warning, message))
    }
    context.board.setHold(hold, of: group.name ?? "")
  }

  /// Takes what waited for a hold's end.
  private func release(_ group: PolicyGroup, from reason: TransferState.PauseReason) -> Change {
    if group.hold == nil {
      context.board.setHold(nil, of: group.name ?? "")
      context.run.events(.released(by: group.name, reason))
    }
    defer { group.held = [] }
    return .ended(group.held, reason)
  }
}
