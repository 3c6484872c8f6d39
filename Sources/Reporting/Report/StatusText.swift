package import JobLedger
import JobModel

/// `haul status` for one job, in words. Its JSON is a report: `LedgerReport` with an outcome of nil.
package struct StatusText {
  private let head: ReportHead
  private let ledger: JobLedger
  private let paint: Paint

  package init(_ head: ReportHead, ledger: JobLedger, isColoured: Bool) {
    self.head = head
    self.ledger = ledger
    paint = Paint(isOn: isColoured)
  }

  /// - Parameters:
  ///   - now: seconds since 1970.
  ///   - meter: takes what has moved, and gives the rate; nil where the job is looked at once.
  package func text(now: Double, meter: inout RateMeter?) throws -> String {
    let standing = try ledger.standing()
    let counts = standing.counts
    let isRunning = counts.running > 0
    let summary = RunSummary(
      head: head, counts: counts, sums: try ledger.sums(), paint: paint, now: isRunning ? now : nil)
    let name = DisplayText.safe(head.jobName ?? "job")
    var lines = ["\(paint.bold(name)): \(state(counts))\(summary.run)", "  " + summary.transfers]
    if standing.plannedBytes > 0 {
      lines.append(
        "  "
          + Figures.bytes(
            standing.doneBytes + standing.recordedBytes, of: standing.plannedBytes,
            isAtLeast: standing.unknownSizes > 0) + " there")
    }
    if let bytes = summary.bytes { lines.append("  " + bytes) }
    meter?.sample(summary.sums?.transferred ?? 0, at: now)
    if isRunning, let rate = meter?.rate {
      let left = standing.plannedBytes - standing.doneBytes - standing.recordedBytes
      let isKnown = standing.unknownSizes == 0 && rate >= 1
      let remaining = isKnown ? ", " + Figures.clock(Double(max(0, left)) / rate) + " left" : ""
      lines.append("  now " + Figures.rate(rate) + remaining)
    }
    if let limit = head.limit { lines.append("  bandwidth \(Figures.bandwidth(limit)) (`haul limit`)") }
    for host in head.hosts {
      let since = Timestamp.text(host.since).dropFirst(11).prefix(8)
      lines.append(
        "  \(paint.yellow(DisplayText.safe(host.host))): \(DisplayText.safe(host.reason)) (\(since)Z)")
    }
    let causes = try CauseList(ledger, counts, describe: head.describe)
    let attention = AttentionText(paint: paint, resumesAt: head.resumesAt).lines(causes)
    if !attention.isEmpty { lines += [""] + attention }
    return lines.joined(separator: "\n") + "\n"
  }

  /// The job as it is now, looked at once.
  package func text(now: Double) throws -> String {
    var none: RateMeter?
    return try text(now: now, meter: &none)
  }

  private func state(_ counts: StateCounts) -> String {
    let word = counts.jobState
    return switch word {
    case "completed": paint.green(word)
    case "failed": paint.red(word)
    case "paused": paint.yellow(word)
    default: word
    }
  }
}
