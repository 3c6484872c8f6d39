package import JobLedger
import JobModel

/// Writes a report (`haul.report/v1`) from the ledger, a page of transfers at a time.
package struct ReportWriter {
  private let head: ReportHead
  private let ledger: JobLedger?
  private let includesAll: Bool
  private let describe: (LedgerTransfer) -> WirePlace
  /// Longer plans are reported by what changed or did not complete.
  var scopeLimit = 100_000
  var pageSize = 500

  /// - Parameters:
  ///   - ledger: nil where there is no plan: of an invalid manifest, for instance.
  ///   - includesAll: lists every transfer of however long a plan (`haul report --all`).
  ///   - describe: tells a transfer's protocol and URL.
  package init(
    _ head: ReportHead, ledger: JobLedger?, includesAll: Bool = false,
    describe: @escaping (LedgerTransfer) -> WirePlace
  ) {
    self.head = head
    self.ledger = ledger
    self.includesAll = includesAll
    self.describe = describe
  }

  /// - Throws: what the ledger or the sink throws; nothing more is written then.
  package func write(to sink: @escaping ByteSink) throws {
    let counts = try ledger?.counts()
    let sums = try ledger?.sums()
    let stream = JSONStream(sink)
    try stream.beginObject()
    try stream.member("schema", .string("haul.report/v1"))
    try stream.member("tool", CommonJSON.tool(head.toolVersion))
    try stream.member(
      "job",
      [
        "name": .text(head.jobName), "state": .text(counts?.jobState), "manifest": .text(head.manifest),
        "manifest_sha256": .text(head.manifestSHA256), "description": .text(head.description),
        "bandwidth": CommonJSON.bandwidth(head.limit),
        "hosts": .array(
          head.hosts.map {
            [
              "host": .string($0.host), "change": .string($0.change), "reason": .string($0.reason),
              "since": CommonJSON.time($0.since),
            ]
          }),
      ])
    try stream.member("run", run)
    try stream.member("totals", CommonJSON.totals(counts ?? StateCounts(), sums))
    try stream.member("diagnostics", .array(try diagnostics().map(CommonJSON.diagnostic)))
    let causes = try ledger.map { try CauseList($0, counts ?? StateCounts(), describe: describe).json }
    try stream.member("causes", causes ?? .array([]))
    let onlyTouched = !includesAll && (counts?.total ?? 0) > scopeLimit
    try stream.member("transfers_scope", .string(onlyTouched ? "changed" : "all"))
    try stream.beginArray("transfers")
    try transfers(stream, onlyTouched: onlyTouched)
    stream.end()
    stream.end()
    try stream.finish()
  }

  private var run: JSON {
    let duration = head.start.flatMap { start in head.endedAt.map { max(0, $0 - start) } }
    return [
      "id": .text(head.run?.id ?? head.runID), "number": .int(head.run?.number),
      "attempt": .int(head.run?.attempts.last?.number), "started_at": CommonJSON.time(head.start),
      "ended_at": CommonJSON.time(head.endedAt), "duration_s": .double(duration),
      "outcome": .text(head.outcome?.rawValue), "exit_code": .int(head.exitCode.map { Int($0) }),
      "host": .text(head.host), "shard": .null, "attempts": .array(head.attempts.map(CommonJSON.attempt)),
    ]
  }

  /// Those of the head first; what the ledger recorded of the same is not repeated.
  func diagnostics() throws -> [RecordedDiagnostic] {
    let recorded = try head.run.flatMap { run in try ledger?.diagnostics(run: run.number) } ?? []
    let known = Set(head.diagnostics)
    return head.diagnostics + recorded.filter { !known.contains($0) }
  }

  private func transfers(_ stream: JSONStream, onlyTouched: Bool) throws {
    guard let ledger else { return }
    let writer = TransferJSON(
      stream, createdAt: head.run?.startedAt, describe: describe, resumesAt: head.resumesAt)
    // A page is read while the one before is written.
    let read = { @Sendable [pageSize] (last: Int64) in
      try ledger.page(after: last, onlyTouched: onlyTouched, limit: pageSize, withFacts: false)
    }
    var page = try read(0)
    while true {
      let next =
        page.count == pageSize ? page.last.map { last in Ahead { [seq = last.seq] in try read(seq) } } : nil
      for transfer in page { try writer.write(transfer) }
      guard let next else { return }
      page = try next.value()
    }
  }
}
