import JobLedger
package import JobModel

extension ReportText {
  /// The summary's facts, for a log of JSON lines: how the run ended, its totals, and what failures have in common.
  package func json() throws -> [JSON.Member] {
    let counts = try ledger?.counts() ?? StateCounts()
    let causes = try ledger.map { try CauseList($0, counts, describe: head.describe).json }
    return [
      .init("job", .text(head.jobName)), .init("run", .int(head.run?.number)),
      .init("outcome", .text(head.outcome?.rawValue)),
      .init("exit_code", .int(head.exitCode.map { Int($0) })),
      .init("totals", CommonJSON.totals(counts, try ledger?.sums())), .init("causes", causes ?? .array([])),
    ]
  }
}
