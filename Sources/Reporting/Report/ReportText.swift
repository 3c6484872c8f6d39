package import JobLedger
import JobModel
import Posix

/// A run in words: how it ended, its totals, all that needs a person's attention, and what to do next.
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
    let title = name + (head.shard.map { ", shard \($0.text)" } ?? "")
    var lines = ["\(paint.bold(title)): \(outcome(counts, head.argument(name)))\(summary.run)"]
    if counts.total > 0 {
      lines.append("  " + summary.transfers)
      if let bytes = summary.bytes { lines.append("  " + bytes) }
    }
    if let ledger { lines += try changes(ledger) }
    lines += circumstances
    if let causes {
      lines += block(
        AttentionText(paint: paint, zone: head.zone, resumesAt: head.resumesAt).lines(causes))
    }
    let diagnostics = try LedgerReport(head, ledger: ledger) { _ in ("", nil) }.diagnostics()
    lines += block(diagnostics.flatMap(DiagnosticText(paint: paint).lines))
    lines += block(next(head.argument(name), (causes?.total ?? 0) - counts.pausedByUser))
    return lines.joined(separator: "\n") + "\n"
  }

  /// When, where and of what; the exit code; where the whole report lies.
  private var circumstances: [String] {
    var lines: [String] = []
    if let start = head.start {
      var text = LocalTime.clock(start, head.zone)
      if let end = head.endedAt {
        let shown = LocalTime.text(end, head.zone)
        text += " to " + (shown.prefix(10) == text.prefix(10) ? String(shown.dropFirst(11)) : shown)
      } else {
        text += " " + LocalTime.name(start, head.zone)
      }
      if let host = head.host { text += " on " + DisplayText.safe(host) }
      lines.append(text + ", haul " + head.toolVersion)
    }
    if let manifest = head.manifest, head.jobName != nil {
      let digest = head.manifestSHA256.map { ", SHA-256 \($0.prefix(12))…" } ?? ""
      lines.append("manifest \(DisplayText.safe(manifest))\(digest)")
    }
    if let code = head.exitCode {
      // What to do is told behind the causes: a user's pause is not ended by running again.
      let meaning = ExitStatus(rawValue: code)?.meaning.split(separator: ": ").first.map { ": " + $0 } ?? ""
      lines.append("exit code \(code)\(meaning)")
    }
    if let path = report { lines.append("report \(DisplayText.safe(path))") }
    return lines.map { "  " + $0 }
  }

  /// Where the whole report lies; nil where it is no longer kept.
  private var report: String? {
    guard let folder = head.reportFolder, let id = head.run?.id else { return nil }
    let path = "\(folder)/\(id).json"
    return Files.exists(path) ? path : nil
  }

  /// - Parameter left: what waits or failed, but for a user's pauses: `--failed` leaves those out, and the outcome tells
  ///   how they end.
  private func next(_ name: String, _ left: Int) -> [String] {
    guard left > 0, ledger != nil, head.outcome == .failed || head.outcome == .incomplete else { return [] }
    return ["next: `haul report \(name) --failed --ids` lists what is left, one id a line"]
  }

  /// `moved: 2 new (a, b), 1 damaged (c)`, and what the manifest no longer has.
  private func changes(_ ledger: JobLedger) throws -> [String] {
    var lines: [String] = []
    let moved = try ledger.moved(limit: Self.namedIDs).map { because, count, ids in
      "\(count) \(because.rawValue.replacing("_", with: " "))\(named(ids, of: count))"
    }
    if !moved.isEmpty { lines.append("  moved: " + moved.joined(separator: ", ")) }
    if let left = head.run?.leftManifest, left.count > 0 {
      lines.append(
        "  left the manifest: \(left.count)" + named(Array(left.ids.prefix(Self.namedIDs)), of: left.count))
    }
    return lines
  }

  private static let namedIDs = 3

  private func named(_ ids: [String], of count: Int) -> String {
    guard !ids.isEmpty else { return "" }
    return " (" + ids.map { DisplayText.safe($0) }.joined(separator: ", ")
      + (count > ids.count ? ", …)" : ")")
  }

  private func block(_ lines: [String]) -> [String] { lines.isEmpty ? [] : [""] + lines }

  private func outcome(_ counts: StateCounts, _ name: String) -> String {
    let left = counts.queued + counts.paused + counts.running
    return switch head.outcome {
    case .completed: paint.green("completed")
    case .failed where left > counts.pausedByUser && head.exitCode == ExitStatus.failedWithWorkLeft.rawValue:
      paint.red("failed") + "; run the same command again for what is left, and to try again what failed"
    case .failed: paint.red("failed")
    case .incomplete where left > 0 && left == counts.pausedByUser:
      paint.yellow("incomplete") + "; what is paused waits for `haul resume \(name)`"
    case .incomplete: paint.yellow("incomplete") + "; run the same command again to go on"
    case .canceled: "canceled"
    case .invalid: paint.red("invalid") + "; the manifest has errors, nothing was done"
    case .refused: paint.yellow("refused") + "; this job is already running"
    case nil: "running"
    }
  }
}
