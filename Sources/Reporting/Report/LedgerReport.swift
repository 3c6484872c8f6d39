package import JobLedger
package import JobModel

/// The report of a job's last run, read from the ledger a page of transfers at a time.
package struct LedgerReport: Report {
  private let head: ReportHead
  private let ledger: JobLedger?
  private let includesAll: Bool
  private let describe: (LedgerTransfer) -> WirePlace
  private let capabilities: (LedgerTransfer) -> Capabilities?
  /// What the job does now; nil but for `haul status`.
  package var situation: JobSituation?
  /// Longer plans are reported by what changed or did not complete.
  var scopeLimit = 100_000
  var pageSize = 500

  /// - Parameters:
  ///   - ledger: nil where there is no plan: of an invalid manifest, for instance.
  ///   - includesAll: lists every transfer of however long a plan (`haul report --all`).
  ///   - capabilities: tells what a transfer's protocol can do.
  ///   - describe: tells a transfer's protocol and URL.
  package init(
    _ head: ReportHead, ledger: JobLedger?, includesAll: Bool = false,
    capabilities: @escaping (LedgerTransfer) -> Capabilities? = { _ in nil },
    describe: @escaping (LedgerTransfer) -> WirePlace
  ) {
    self.head = head
    self.ledger = ledger
    self.includesAll = includesAll
    self.describe = describe
    self.capabilities = capabilities
  }

  package func lastSuccess() throws -> Double? { try ledger?.lastSuccess() }

  package func members() throws -> [JSON.Member] { try members(summary: nil) }
  package func briefMembers() throws -> [JSON.Member] { try members(summary: Int.max) }

  /// - Parameter summary: leaves the transfers out, and of all else that has no bound more than so many; nil for all.
  private func members(summary: Int?) throws -> [JSON.Member] {
    let counts = try ledger?.counts() ?? StateCounts()
    let (isSummary, limit) = (summary != nil, summary ?? .max)
    var members: [JSON.Member] = [
      .init("schema", .string("haul.report/v1")), .init("tool", CommonJSON.tool(head.toolVersion)),
      .init("job", try job(counts, limit: limit)), .init("run", run(limit: limit)),
      .init("totals", CommonJSON.totals(counts, try ledger?.sums())),
      .init("diagnostics", .array(isSummary ? [] : try diagnostics().map(CommonJSON.diagnostic))),
      .init("notices", .array(head.notices.suffix(limit).map(CommonJSON.notice))),
      .init("causes", isSummary ? .array([]) : try causes(counts)),
      .init("left_manifest", leftManifest(limit: limit)),
      .init("selection", head.selection.map { selection($0, limit: limit) } ?? .null),
    ]
    if let situation { members.append(.init("status", situation.json(limit: summary))) }
    if !isSummary {
      members.append(.init("transfers_scope", .string(listsChanges(counts.total) ? "changed" : "all")))
    }
    return members
  }

  /// Bytes of a summary at the most.
  private static let summaryLimit = 4000

  private func listsChanges(_ total: Int) -> Bool { !includesAll && total > scopeLimit }

  private func job(_ counts: StateCounts, limit: Int) throws -> JSON {
    [
      "name": .text(head.jobName),
      "state": .text(ledger == nil ? nil : head.jobState(counts, isRunning: situation?.isRunning == true)),
      "manifest": .text(head.manifest),
      "manifest_sha256": .text(head.manifestSHA256), "inputs_sha256": .text(head.inputsSHA256),
      "description": .text(head.description.map { limit == .max ? $0 : String($0.prefix(100)) }),
      "bandwidth": CommonJSON.bandwidth(head.limit), "limits": JobLimitsJSON.write(head.limits),
      "hosts": .array(
        head.hosts.prefix(limit).map {
          [
            "host": .string($0.host), "change": .string($0.change), "reason": .string($0.reason),
            "since": CommonJSON.time($0.since),
          ]
        }),
    ]
  }

  private func run(limit: Int) -> JSON {
    let duration = head.start.flatMap { start in head.endedAt.map { max(0, $0 - start) } }
    return [
      "id": .text(head.run?.id ?? head.runID), "number": .int(head.run?.number),
      "attempt": .int(head.run?.attempts.last?.number), "started_at": CommonJSON.time(head.start),
      "ended_at": CommonJSON.time(head.endedAt), "duration_s": .double(duration),
      "outcome": .text(head.outcome?.rawValue), "exit_code": .int(head.exitCode.map { Int($0) }),
      "host": .text(head.host), "shard": CommonJSON.shard(head.shard, of: head.wholeCount),
      "attempts": .array(head.attempts.suffix(limit).map(CommonJSON.attempt)),
      "pauses": .array((head.run?.pauses ?? []).suffix(limit).map(CommonJSON.pause)),
    ]
  }

  private func causes(_ counts: StateCounts) throws -> JSON {
    try ledger.map { try CauseList($0, counts, describe: describe).json } ?? .array([])
  }

  private func leftManifest(limit: Int) -> JSON {
    let left = head.run?.leftManifest ?? LeftManifest()
    return ["count": .int(left.count), "ids": .array(left.ids.prefix(limit).map { .string($0) })]
  }

  private func selection(_ report: SelectionReport, limit: Int) -> JSON {
    let pattern = report.selection.pattern.map { limit == .max ? $0 : $0.truncated(to: 100) }
    var members: [JSON.Member] = [
      .init("kind", .string(report.selection.kind)), .init("only", .text(pattern)),
      .init("totals", CommonJSON.states(report.counts)),
    ]
    if let listed = report.listed {
      let list: JSON = [
        "sha256": .text(report.selection.listSHA256), "ids": .int(listed.asked), "found": .int(listed.found),
      ]
      members.append(.init("list", list))
    }
    return .object(members)
  }

  /// Those of the head first; what the ledger recorded of the same is not repeated.
  func diagnostics() throws -> [RecordedDiagnostic] {
    let recorded = try head.run.flatMap { run in try ledger?.diagnostics(run: run.number) } ?? []
    let known = Set(head.diagnostics)
    return head.diagnostics + recorded.filter { !known.contains($0) }
  }

  package func transfers(_ extent: TransferExtent, _ body: (JSON) throws -> Void) throws -> [JSON.Member] {
    var writer = TransferJSON(
      describe: describe, capabilities: capabilities, resumesAt: head.resumesAt,
      newSince: head.previousStart, createdAt: head.run?.startedAt, isComplete: extent.isWhole,
      concurrency: head.concurrency)
    if let ledger {
      let judged = extent == .selected && head.selection != nil ? head.run?.number : nil
      let selected = try judged.flatMap { try ledger.selectedRows(run: $0) }
      let onlyTouched = try extent == .listed && listsChanges(ledger.counts().total)
      // A page is read while the one before is written.
      let read = { @Sendable [pageSize] (last: Int64) in
        try ledger.page(after: last, onlyTouched: onlyTouched, limit: pageSize, withFacts: false)
      }
      var page = try read(0)
      while let last = page.last?.seq {
        let next = page.count == pageSize ? Future { try read(last) } : nil
        for transfer in page where selected?.contains(transfer.seq) ?? true {
          try body(writer.line(transfer))
        }
        page = try next?.value() ?? []
      }
    }
    return [
      .init(
        "policies",
        writer.policies.namedJSON {
          PolicyJSON.write($1, found: writer.found(under: $0), jobLimits: head.limits)
        }),
      .init("capabilities", writer.abilities.json(\.json)),
    ]
  }

  package func evidence() throws -> Evidence {
    var evidence = Evidence()
    for (checks, count) in try ledger?.verifications() ?? [] { evidence.add(checks, count: count) }
    return evidence
  }

  package func text(isColoured: Bool) throws -> String {
    try ReportText(head, ledger: ledger, isColoured: isColoured).text()
  }

  /// The report without its transfers, and without all else that has no bound (`haul status --json --summary`).
  package func writeSummary(to sink: @escaping ByteSink) throws {
    var text: [UInt8] = []
    for limit in [8, 5, 2, 0] where text.isEmpty || text.count > Self.summaryLimit {
      text.removeAll()
      let stream = JSONStream { text += $0 }
      try stream.beginObject()
      for member in try members(summary: limit) { try stream.member(member.name, member.value) }
      stream.end()
      try stream.finish()
    }
    try sink(text)
  }
}
