import JobLedger
import JobModel

/// Transfers that wait for an interface, or for a connection that is not metered.
extension TransferEngine {
  /// Looks at the network, pauses what must not go on and queues again what may.
  package func look() async throws {
    guard stopCause == nil, !holds.profiles.isEmpty else { return }
    for (key, policy) in Dictionary(
      holds.profiles.values.map { ($0.key, $0.policy) }, uniquingKeysWith: { one, _ in one })
    {
      let hold = context.network.hold(policy)
      if let hold, holds.reason(key) != hold.reason {
        holds.set(key, hold.reason)
        remark(hold.message)
        pauseAll(of: key, for: hold.reason)
      } else if hold == nil, let reason = holds.reason(key), !isActive(key) {
        holds.set(key, nil)
        remark("transfers that were paused for the reason `\(reason.rawValue)` go on")
        try await reopen(key)
      }
    }
  }

  /// Whether transfers of this profile may not begin now; what is queued of it is paused.
  func isHeld(_ transfer: LedgerTransfer) throws -> Bool {
    guard holds.profiles[transfer.profile] != nil, let reason = holds.reason(key(transfer)) else {
      return false
    }
    try context.ledger.settleQueued(profile: transfer.profile, to: .paused(reason))
    holds.setPaused(transfer.profile, reason)
    return true
  }

  /// Notes a profile when it is first seen, and how its policy stands.
  func learn(_ transfer: LedgerTransfer) {
    guard holds.profiles[transfer.profile] == nil else { return }
    let (key, policy) = (key(transfer), transfer.settings.policy)
    holds.learn(transfer.profile, key, policy)
    guard NetworkState.mayHold(policy), holds.reason(key) == nil, let hold = context.network.hold(policy)
    else { return }
    holds.set(key, hold.reason)
    remark(hold.message)
  }

  private func pauseAll(of key: PolicySlots.Key, for reason: TransferState.PauseReason) {
    for running in active.values where running.slot.key == key { running.end(.hold(reason)) }
    // What waits for its turn is seen again, and paused with the rest of its profile.
    cursor = 0
    reachedEnd = false
    waiting = []
    for (profile, entry) in holds.profiles where entry.key == key { holds.setPaused(profile, reason) }
    do {
      for (profile, entry) in holds.profiles where entry.key == key {
        try context.ledger.settleQueued(profile: profile, to: .paused(reason))
      }
    } catch { return stop(.ledger("\(error)")) }
    wake()
  }

  private func reopen(_ key: PolicySlots.Key) async throws {
    try await context.writer.barrier()
    for (profile, reason) in holds.paused where holds.profiles[profile]?.key == key {
      try context.ledger.reopen(profile: profile, pausedFor: reason)
      holds.setPaused(profile, nil)
    }
    cursor = 0
    reachedEnd = false
    waiting = []
    needsMayBeMet = true
    wake()
  }

  private func isActive(_ key: PolicySlots.Key) -> Bool { active.values.contains { $0.slot.key == key } }

  private func remark(_ message: String) {
    let diagnostic = Diagnostic(.warning, message)
    context.writer.submit(.diagnostic(run: context.run, diagnostic))
    context.events(.diagnostic(diagnostic))
  }
}
