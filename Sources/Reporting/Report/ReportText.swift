package import JobLedger
import JobModel

/// A run in words: how it ended, its totals, and all that needs a person's attention.
package struct ReportText {
  private let head: ReportHead
  private let ledger: JobLedger?
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
    var lines = ["\(paint.bold(name)): \(outcome)\(summary.run)"]
    if counts.total > 0 {
      lines.append("  " + summary.transfers)
      if let bytes = summary.bytes { lines.append("  " + bytes) }
    }
    if let ledger {
      lines += block(try AttentionText(paint: paint, resumesAt: head.resumesAt).lines(ledger, counts))
    }
    let diagnostics = try ReportWriter(head, ledger: ledger) { _ in ("", nil) }.diagnostics()
    lines += block(diagnostics.flatMap(DiagnosticText(paint: paint).lines))
    return lines.joined(separator: "\n") + "\n"
  }

  private func block(_ lines: [String]) -> [String] { lines.isEmpty ? [] : [""] + lines }

  private var outcome: String {
    switch head.outcome {
    case .completed: paint.green("completed")
    case .failed: paint.red("failed")
    case .incomplete: paint.yellow("incomplete") + "; run the same command again to go on"
    case .canceled: "canceled"
    case .invalid: paint.red("invalid") + "; the manifest has errors, nothing was done"
    case .refused: paint.yellow("refused") + "; this job is already running"
    case nil: "running"
    }
  }
}
