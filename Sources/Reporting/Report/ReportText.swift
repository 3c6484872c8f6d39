package import JobLedger
import JobModel

/// A run in words: how it ended, its totals, and all that needs a person's attention.
package struct ReportText {
  let head: ReportHead
  let ledger: JobLedger?
  private let paint: Paint

  /// - Parameters:
  ///   - ledger: nil where there is no plan.
  ///   - isColoured: only for a terminal without NO_COLOR.
  package init(_ head: ReportHead, ledger: JobLedger?, isColoured: Bool) {
    self.head = head
    self.ledger = ledger
    paint = Paint(isOn: isColoured)
  }

  /// The summary, with a newline at its end.
  package func text() throws -> String {
    let counts = try ledger?.counts() ?? StateCounts()
    let summary = RunSummary(head: head, counts: counts, sums: try ledger?.sums(), paint: paint, now: nil)
    let name = DisplayText.safe(head.jobName ?? head.manifest ?? "job")
    let causes = try ledger.map { try CauseList($0, counts, describe: head.describe) }
    let isHeld = counts.queued == 0 && causes?.groups.contains { $0.first.state == .paused(.user) } == true
    let goesOn =
      isHeld && causes?.groups.allSatisfy { $0.first.state == .paused(.user) } == true
      ? "`haul resume \(name)` lets it go on" : "run the same command again to go on"
    var lines = ["\(paint.bold(name)): \(outcome(goesOn))\(summary.run)"]
    if counts.total > 0 {
      lines.append("  " + summary.transfers)
      if let bytes = summary.bytes { lines.append("  " + bytes) }
    }
    if let causes {
      lines += block(AttentionText(paint: paint, resumesAt: head.resumesAt).lines(causes))
    }
    let diagnostics = try ReportWriter(head, ledger: ledger) { _ in ("", nil) }.diagnostics()
    lines += block(diagnostics.flatMap(DiagnosticText(paint: paint).lines))
    return lines.joined(separator: "\n") + "\n"
  }

  private func block(_ lines: [String]) -> [String] { lines.isEmpty ? [] : [""] + lines }

  private func outcome(_ goesOn: String) -> String {
    switch head.outcome {
    case .completed: paint.green("completed")
    case .failed: paint.red("failed")
    case .incomplete: paint.yellow("incomplete") + "; " + goesOn
    case .canceled: "canceled"
    case .invalid: paint.red("invalid") + "; the manifest has errors, nothing was done"
    case .refused: paint.yellow("refused") + "; this job is already running"
    case nil: "running"
    }
  }
}
