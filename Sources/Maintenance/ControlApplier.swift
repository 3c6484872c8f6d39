package import JobLedger
package import JobModel
import Transfers

/// Applies a user's request to a transfer that nobody works on: state, and what is left of its progress.
package enum ControlApplier {
  /// - Returns: whether the request changed anything.
  package nonisolated(nonsending) static func apply(
    _ control: Control, to transfer: LedgerTransfer, context: MaintenanceContext
  ) async throws -> Bool {
    guard let next = StateMachine.next(transfer.state, control.event) else { return false }
    // What is complete has no partial progress to forget: it begins anew where it is meant by its id.
    if control.ids.isEmpty, ["completed", "up_to_date"].contains(transfer.state.word) { return false }
    // What failed, or was given up, is held back where it is meant by its id: a pause of all hides no failure of a run.
    let hadItsTurn = ["failed", "canceled", "skipped"].contains(transfer.state.word)
    if control.ids.isEmpty, control.verb == .pause, hadItsTurn { return false }
    // What waits already may still have progress to forget.
    let drops = next.actions.contains(.dropProgress)
    guard next.state != transfer.state || (drops && transfer.hasProgress) else { return false }
    if drops {
      _ = await Retirement(context).clear(transfer, isRetired: false)
      // A file that is whole stays the transfer's own, and its attach request under its key.
      if control.event != .cancel || transfer.progress.completedAt == nil {
        var progress = transfer.progress
        progress.apply(.restarted(.asked))
        progress.movedBecause = control.event == .cancel ? nil : .asked
        context.run.writer.submit(.noChunks(seq: transfer.seq))
        context.run.writer.submit(.progress(seq: transfer.seq, progress))
      }
    }
    context.run.writer.submit(.state(seq: transfer.seq, next.state))
    context.run.events(.state(id: transfer.id, from: transfer.state, to: next.state, failure: nil))
    return true
  }

  /// Applies a request while no run is under way.
  ///
  /// - Returns: how many transfers it changed.
  package static func applyAtRest(_ control: Control, context: MaintenanceContext) async throws -> Int {
    var changed = 0
    var last: Int64? = 0
    while let seq = last {
      let (page, next) = try context.run.ledger.matching(control.ids, after: seq, limit: 256)
      for transfer in page
      where try await apply(control, to: transfer, context: context) {
        changed += 1
      }
      last = next
    }
    try await context.run.writer.barrier()
    try StaleSnapshots.clear(context)
    if case .retry = control.event {
      try context.run.ledger.forgetRests()
      if changed > 0 { try context.run.ledger.requeueSkippedForNeeds() }
    }
    return changed
  }
}
