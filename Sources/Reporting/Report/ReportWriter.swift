package import JobLedger
import JobModel

/// Writes a report (`haul.report/v1`) from the ledger, a page of transfers at a time.
package struct ReportWriter {
  private let head: ReportHead
  private let ledger: JobLedger?
  private let includesAll: Bool
  private let describe: (LedgerTransfer) -> WirePlace
  private let capabilities: (LedgerTransfer) -> Capabilities?
  /// Leaves the transfers out, and all else that has no bound.
  private let isSummary: Bool
  /// Longer plans are reported by what changed or did not complete.
  var scopeLimit = 100_000
  var pageSize = 500

  /// - Parameters:
  ///   - ledger: nil where there is no plan: of an invalid manifest, for instance.
  ///   - includesAll: lists every transfer of however long a plan (`haul report --all`).
  ///   - isSummary: leaves out the transfers (`haul status --json --summary`).
  ///   - capabilities: tells what a transfer's protocol can do.
  ///   - describe: tells a transfer's protocol and URL.
  package init(
    _ head: ReportHead, ledger: JobLedger?, includesAll: Bool = false, isSummary: Bool = false,
    capabilities: @escaping (LedgerTransfer) -> Capabilities? = { _ in nil },
    describe: @escaping (LedgerTransfer) -> WirePlace
  ) {
    self.isSummary = isSummary
    self.capabilities = capabilities
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
          head.hosts.prefix(isSummary ? Self.summaryLimit : .max).map {
            [
              "host": .string($0.host), "change": .string($0.change), "reason": .string($0.reason),
              "since": CommonJSON.time($0.since),
            ]
          }),
      ])
    try stream.member("run", run)
    try stream.member("totals", CommonJSON.totals(counts ?? StateCounts(), sums))
    let diagnostics = isSummary ? [] : try diagnostics()
    try stream.member("diagnostics", .array(diagnostics.map(CommonJSON.diagnostic)))
    let causes =
      isSummary ? nil : try ledger.map { try CauseList($0, counts ?? StateCounts(), describe: describe).json }
    try stream.member("causes", causes ?? .array([]))
    try stream.member("left_manifest", leftManifest)
    try stream.member("selection", head.selection.map(selection) ?? .null)
    if isSummary {
      stream.end()
      return try stream.finish()
    }
    let onlyTouched = !includesAll && (counts?.total ?? 0) > scopeLimit
    try stream.member("transfers_scope", .string(onlyTouched ? "changed" : "all"))
    try stream.beginArray("transfers")
    let shared = try transfers(stream, onlyTouched: onlyTouched)
    stream.end()
    // Behind the transfers: which ones they refer to is known then.
    try stream.member("policies", shared.policies.json { PolicyJSON.write($0) })
    try stream.member("capabilities", shared.abilities.json(\.json))
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
      "host": .text(head.host), "shard": .null,
      "attempts": .array(head.attempts.suffix(isSummary ? Self.summaryLimit : .max).map(CommonJSON.attempt)),
    ]
  }

  private static let summaryLimit = 5

  private var leftManifest: JSON {
    let left = head.run?.leftManifest ?? LeftManifest()
    let ids = left.ids.prefix(isSummary ? Self.summaryLimit : .max)
    return ["count": .int(left.count), "ids": .array(ids.map { .string($0) })]
  }

  private func selection(_ selection: SelectionReport) -> JSON {
    ["only": .string(selection.only), "totals": CommonJSON.states(selection.counts)]
  }

  /// Those of the head first; what the ledger recorded of the same is not repeated.
  func diagnostics() throws -> [RecordedDiagnostic] {
    let recorded = try head.run.flatMap { run in try ledger?.diagnostics(run: run.number) } ?? []
    let known = Set(head.diagnostics)
    return head.diagnostics + recorded.filter { !known.contains($0) }
  }

  private func transfers(_ stream: JSONStream, onlyTouched: Bool) throws -> TransferJSON {
    var writer = TransferJSON(
      describe: describe, capabilities: capabilities, resumesAt: head.resumesAt,
      newSince: head.previousStart, createdAt: head.run?.startedAt)
    guard let ledger else { return writer }
    // A page is read while the one before is written.
    let read = { @Sendable [pageSize] (last: Int64) in
      try ledger.page(after: last, onlyTouched: onlyTouched, limit: pageSize, withFacts: false)
    }
    var page = try read(0)
    while true {
      let next =
        page.count == pageSize ? page.last.map { last in Future { [seq = last.seq] in try read(seq) } } : nil
      for transfer in page { try stream.line(writer.line(transfer)) }
      guard let next else { return writer }
      page = try next.value()
    }
  }
}
