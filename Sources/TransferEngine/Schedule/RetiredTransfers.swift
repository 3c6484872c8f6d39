import JobLedger
import JobModel

/// What earlier plans and attempts have left to end: transfers that left the manifest, sessions asked for without an
/// answer.
enum RetiredTransfers {
  /// Ends what the manifest no longer has, its remote sessions and its part files. What can't be ended now is tried again
  /// by the next run.
  nonisolated(nonsending) static func clear(_ context: EngineContext, _ authenticator: Authenticator)
    async throws
  {
    let retirement = Retirement(context, authenticator)
    try Successors.inherit(context)
    for transfer in try context.ledger.retired() {
      if transfer.state != .canceled,
        let successor = try RenamedSource.successor(of: transfer, context: context)
      {
        try context.ledger.handOver(from: transfer.seq, to: successor)
      } else {
        guard await retirement.clear(transfer, isRetired: true).isOver else { continue }
      }
      context.writer.submit(.removed(seq: transfer.seq))
    }
  }

  /// Ends sessions that were asked for without an answer, of transfers that nobody works on any more.
  nonisolated(nonsending) static func clearIntended(
    _ context: EngineContext, _ authenticator: Authenticator, isStopped: () -> Bool
  ) async throws {
    let retirement = Retirement(context, authenticator)
    for transfer in try context.ledger.endedWithIntent() where !isStopped() {
      _ = await retirement.clear(transfer, isRetired: false)
    }
  }
}
