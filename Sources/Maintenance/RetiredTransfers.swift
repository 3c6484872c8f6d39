import JobLedger
import JobModel
import Transfers

/// What earlier plans and attempts have left to end: transfers that left the manifest, sessions asked for without an
/// answer.
package enum RetiredTransfers {
  /// Ends what the manifest no longer has, its remote sessions and its part files. What can't be ended now is tried again
  /// by the next run.
  package nonisolated(nonsending) static func clear(_ context: MaintenanceContext) async throws {
    let retirement = Retirement(context)
    try Successors.inherit(context)
    var page = try context.run.ledger.retired()
    while let last = page.last?.seq {
      for transfer in page {
        if transfer.state != .canceled,
          let successor = try RenamedSource.successor(of: transfer, context: context)
        {
          try context.run.ledger.handOver(from: transfer.seq, to: successor)
        } else {
          guard await retirement.clear(transfer, isRetired: true).isOver else { continue }
        }
        context.run.writer.submit(.removed(seq: transfer.seq))
      }
      page = try context.run.ledger.retired(after: last)
    }
  }

  /// Ends sessions that were asked for without an answer, of transfers that nobody works on any more.
  package nonisolated(nonsending) static func clearIntended(
    _ context: MaintenanceContext, isStopped: () -> Bool
  ) async throws {
    let retirement = Retirement(context)
    for transfer in try context.run.ledger.endedWithIntent() where !isStopped() {
      _ = await retirement.clear(transfer, isRetired: false)
    }
  }
}
