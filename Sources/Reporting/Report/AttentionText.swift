import JobLedger
import JobModel

/// Tells of each transfer that needs a person's attention: why, and what to do.
struct AttentionText {
  static let limit = 50
  let paint: Paint
  var resumesAt: (LedgerTransfer) -> Double? = { _ in nil }

  /// Lines about the first transfers that failed, wait, or were skipped for another; then how many more there are.
  func lines(_ ledger: JobLedger, _ counts: StateCounts) throws -> [String] {
    let waiting = counts.queued > 0 ? try ledger.queuedForReasons() : 0
    let total = counts.failed + counts.paused + counts.skippedForNeeds + waiting
    guard total > 0 else { return [] }
    let shown = try ledger.needingAttention(limit: Self.limit)
    var lines = shown.flatMap(lines)
    if total > shown.count { lines.append("… and \(total - shown.count) more; the report has them all") }
    return lines
  }

  private func lines(_ transfer: LedgerTransfer) -> [String] {
    let id = DisplayText.safe(transfer.id)
    var title = "\(word(transfer.state)) \(paint.bold(id))"
    if let reason = transfer.state.reason { title += " (\(DisplayText.safe(reason)))" }
    var hint = hint(transfer.state)
    if let time = resumesAt(transfer) { title += ", until \(Timestamp.text(time).prefix(19))Z" }
    if let failure = transfer.standingFailure {
      title += ": \(failure.code.rawValue): " + DisplayText.safe(Masking.text(failure.message))
      hint = failure.code.hint
    }
    let source = DisplayText.safe(Masking.place(transfer.source))
    let destination = DisplayText.safe(Masking.place(transfer.destination))
    var lines = [title, paint.faint("  \(source) -> \(destination)")]
    if let hint { lines.append("  hint: " + hint) }
    return lines
  }

  private func word(_ state: TransferState) -> String {
    switch state {
    case .failed: paint.red(state.word)
    case .queued, .running, .paused, .completed, .upToDate, .canceled, .skipped: paint.yellow(state.word)
    }
  }

  private func hint(_ state: TransferState) -> String? {
    switch state {
    case .skipped(.needs): ErrorCode.needsFailed.hint
    case .paused(let reason): hint(reason)
    case .queued(.needs): "it has its turn when that one is complete"
    case .queued(.failFast): "a failure ended the run before its turn; the next run goes on with it"
    case .queued(nil), .running, .completed, .upToDate, .failed, .canceled, .skipped: nil
    }
  }

  private func hint(_ reason: TransferState.PauseReason) -> String {
    switch reason {
    case .retries, .interrupted: "run the same command again: it goes on from what is there"
    case .user: "`haul resume` lets it go on"
    case .window: "run again inside the policy's `window`"
    case .deadline: "the `deadline` (the policy's, or --deadline) was reached; run again to go on"
    case .budget: "the policy's `budget` is used up; run again in its next period"
    case .interface: "the policy's `interface` is not there; connect it, then run again"
    case .metered: "the network is metered and the policy says to wait; run again on another"
    case .disk: ErrorCode.diskFull.hint
    }
  }
}
