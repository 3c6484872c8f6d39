package import JobModel

/// Where one part of a job stands, in a line: `completed, run 2: 12 transfers: 11 completed, 1 up to date`.
package enum PartText {
  package static func line(_ head: ReportHead, _ counts: StateCounts, isRunning: Bool) -> String {
    let summary = RunSummary(head: head, counts: counts, sums: nil, paint: Paint(isOn: false), now: nil)
    let state = isRunning ? "running" : head.outcome?.rawValue ?? "not run yet"
    return state + summary.run + ": " + summary.transfers
  }
}
