import JobLedger
import JobModel

/// Tells what needs a person's attention: why, and what to do; once for all that have it in common.
struct AttentionText {
  static let limit = 20
  let paint: Paint
  /// Of the times.
  var zone = CivilZone.utc
  var resumesAt: (TransferState, EffectivePolicy) -> Double? = { _, _ in nil }

  /// Lines about the first causes; then how many more transfers there are.
  func lines(_ causes: CauseList) -> [String] {
    let shown = causes.groups.prefix(Self.limit)
    var lines = shown.flatMap(lines)
    let rest = causes.total - shown.reduce(0) { $0 + $1.tally.count }
    if rest > 0 { lines.append("… and \(rest) more; the report has them all") }
    return lines
  }

  /// Lines about one cause.
  func lines(_ group: CauseList.Group) -> [String] {
    group.tally.count == 1 ? one(group.first) : many(group)
  }

  private func one(_ transfer: LedgerTransfer) -> [String] {
    let id = DisplayText.safe(transfer.id)
    let (facts, hint) = facts(transfer, transfer.standingFailure?.message)
    let source = DisplayText.safe(Masking.place(transfer.source))
    let destination = DisplayText.safe(Masking.place(transfer.destination))
    let title = "\(word(transfer.state)) \(paint.bold(id))" + facts
    return [title, paint.faint("  \(source) -> \(destination)")] + (hint.map { ["  hint: " + $0] } ?? [])
  }

  private func many(_ group: CauseList.Group) -> [String] {
    let tally = group.tally
    let (facts, hint) = facts(group.first, tally.cause.message)
    let title = "\(word(group.first.state)) \(paint.bold("\(tally.count) transfers"))" + facts
    let names = DisplayText.safe(CauseTally.names(tally.ids, of: tally.count))
    return [title, "  " + names] + (hint.map { ["  hint: " + $0] } ?? [])
  }

  private func facts(_ transfer: LedgerTransfer, _ message: String?) -> (text: String, hint: String?) {
    var text = transfer.state.reason.map { " (\(DisplayText.safe($0)))" } ?? ""
    if let time = resumesAt(transfer.state, transfer.settings.policy) {
      text += ", until \(LocalTime.text(time, zone))"
    }
    guard let failure = transfer.standingFailure, let message else {
      return (text, Self.hint(transfer.state))
    }
    return (
      text + ": \(failure.code.rawValue): " + DisplayText.safe(Masking.text(message)), failure.code.hint
    )
  }

  private func word(_ state: TransferState) -> String {
    switch state {
    case .failed: paint.red(state.word)
    case .queued, .running, .paused, .completed, .upToDate, .canceled, .skipped: paint.yellow(state.word)
    }
  }

  /// What to do about a transfer that waits without a failure of its own; nil where nothing is to be done.
  static func hint(_ state: TransferState) -> String? {
    switch state {
    case .skipped(.needs): ErrorCode.needsFailed.hint
    case .paused(let reason): hint(reason)
    case .queued(.needs): "it has its turn when that one is complete"
    case .queued(.failFast): "a failure ended the run before its turn; the next run goes on with it"
    case .queued(nil), .running, .completed, .upToDate, .failed, .canceled, .skipped: nil
    }
  }

  private static func hint(_ reason: TransferState.PauseReason) -> String {
    switch reason {
    case .retries, .interrupted: "run the same command again: it goes on from what is there"
    case .user: "`haul resume` lets it go on"
    case .window: "run again inside the policy's `window`"
    case .deadline: "the `deadline` (the policy's, or --deadline) was reached; run again to go on"
    case .budget: "the `budget` (the policy's, or the job's) is used up; run again in its next period"
    case .interface: "the policy's `interface` is not there; connect it, then run again"
    case .metered: "the network is metered and the policy says to wait; run again on another"
    case .disk: ErrorCode.diskFull.hint
    }
  }
}
