import JobLedger
import JobModel

/// The lines that sum a run up, for the summary and for `haul status`.
struct RunSummary {
  let head: ReportHead
  let counts: StateCounts
  let sums: TransferSums?
  let paint: Paint
  /// Seconds since 1970, for a run that still goes on.
  let now: Double?

  /// `3 transfers: 1 completed, 1 up to date, 1 failed`
  var transfers: String {
    let parts = [
      (counts.completed, "completed"), (counts.upToDate, "up to date"), (counts.running, "running"),
      (counts.queued, "queued"), (counts.paused, "paused"), (counts.failed, "failed"),
      (counts.skipped, "skipped"), (counts.canceled, "canceled"),
    ].filter { $0.0 > 0 }.map { "\($0.0) \($0.1)" }
    let total = Figures.count(counts.total, "transfer")
    return parts.isEmpty ? total : total + ": " + parts.joined(separator: ", ")
  }

  /// `1.2 GiB transferred (12 MiB/s), 3.0 MiB reused, 1.0 KiB discarded; 12 requests, 2 retries`
  var bytes: String? {
    guard let sums else { return nil }
    var text = Figures.bytes(sums.transferred) + " transferred"
    if sums.transferred > 0, let seconds = head.activeSeconds(now: now), seconds > 0 {
      text += " (" + Figures.rate(Double(sums.transferred) / seconds) + ")"
    }
    if sums.reused > 0 { text += ", " + Figures.bytes(sums.reused) + " reused" }
    if sums.discarded > 0 { text += ", " + Figures.bytes(sums.discarded) + " discarded" }
    text += "; " + Figures.count(Int(sums.requests), "request")
    if sums.retries > 0 { text += ", " + Figures.count(Int(sums.retries), "retry") }
    return text
  }

  /// `(run 7, attempt 2, 12 s)`
  var run: String {
    var parts: [String] = []
    if let run = head.run {
      parts.append("run \(run.number)")
      if run.attempts.count > 1 { parts.append("attempt \(run.attempts.count)") }
    }
    if let seconds = head.activeSeconds(now: now) { parts.append(Figures.duration(seconds)) }
    return parts.isEmpty ? "" : " (" + parts.joined(separator: ", ") + ")"
  }
}
