import JobLedger
import JobModel
import Testing

@testable import Reporting

@Suite struct LedgerReportTests {
  private func report(_ head: ReportHead, _ ledger: JobLedger?, all: Bool = false) throws -> Collector {
    let out = Collector()
    try LedgerReport(head, ledger: ledger, includesAll: all, describe: SampleJob.wire).writeJSON(to: out.take)
    return out
  }

  @Test func `a report with a transfer in each state keeps to the schema`() async throws {
    for withRunning in [false, true] {
      let job = try await SampleJob(withRunning: withRunning)
      let out = try report(job.head, job.ledger)
      #expect(try Schemas.faults("report", [out.bytes]) == "")
    }
  }

  @Test func `a report of a run that never began keeps to the schema`() throws {
    var head = ReportHead(toolVersion: "0.1.0", jobName: nil)
    head.outcome = .invalid
    head.exitCode = 65
    head.diagnostics = [
      RecordedDiagnostic(
        Diagnostic(.error, "unknown key", at: SourceMark(file: "j.yaml", line: 2, column: 3)))
    ]
    let out = try report(head, nil)
    #expect(try Schemas.faults("report", [out.bytes]) == "")
    let json = try Document(out.bytes)
    #expect(json["run", "outcome"].text == "invalid")
    #expect(json["run", "id"].isNull)
    #expect(json["diagnostics", 0, "place"].text == "j.yaml:2:3")
    #expect(json["transfers"].array.isEmpty)
  }

  @Test func `totals are the sums of the transfers`() async throws {
    let job = try await SampleJob()
    let json = try Document(report(job.head, job.ledger).bytes)
    let transfers = json["transfers"].array
    #expect(json["totals", "transfers"].int == transfers.count && transfers.count == 9)
    for state in ["completed", "up_to_date", "failed", "paused", "canceled", "queued", "skipped"] {
      #expect(json["totals", state].int == transfers.filter { $0["state"].text == state }.count, "\(state)")
    }
    for part in ["transferred", "reused", "discarded"] {
      let sum = transfers.reduce(0) { $0 + ($1["bytes", part].int ?? 0) }
      #expect(json["totals", "bytes", part].int == sum && sum > 0, "\(part)")
    }
    #expect(json["totals", "bytes", "planned"].int == transfers.reduce(0) { $0 + ($1["size"].int ?? 0) })
    for part in ["requests", "retries"] {
      #expect(json["totals", part].int == transfers.reduce(0) { $0 + ($1[part].int ?? 0) }, "\(part)")
    }
    #expect(json["job", "state"].text == "failed")
  }

  @Test func `what is known is told and the rest is null`() async throws {
    let job = try await SampleJob()
    let json = try Document(report(job.head, job.ledger).bytes)
    let all = json["transfers"].array
    func transfer(_ id: String) throws -> Document { try #require(all.first { $0["id"].text == id }) }

    let done = try transfer("done")
    #expect(done["chunks", "total"].int == 3 && done["chunks", "reused"].int == 1)
    #expect(done["digests", "sha256"].text == String(repeating: "0f", count: 32))
    #expect(done["verification", 0, "against"].text == "server")
    #expect(done["error"].isNull && done["duration_s"].double == 0.25)
    #expect(done["created_at"].text == "2023-11-14T22:13:19.000Z")
    #expect(done["url"].text == "https://h.example/done")
    #expect(done["source"].text == "https://h.example/done?***")
    #expect(done["policy", "name"].text == "office")
    #expect(json["policies"].keys == ["p1"] && all.allSatisfy { $0["policy", "ref"].text == "p1" })
    #expect(json["policies", "p1", "network", "proxy"].text == "http://***@proxy:3128")
    #expect(json["policies", "p1", "http", "headers", 1, "secret", "env"].text == "KEY")

    let broken = try transfer("broken")
    #expect(
      broken["error", "code"].text == "INTEGRITY_MISMATCH" && broken["error", "retryable"].bool == false)
    #expect(broken["error", "hint"].text == ErrorCode.integrityMismatch.hint)
    #expect(broken["error", "at"].text == "2023-11-14T22:13:24.000Z")
    #expect(try transfer("slow")["error", "retryable"].bool == true)
    #expect(try transfer("slow")["session"].text == "open")
    // What went wrong before a user paused it is not why it waits.
    #expect(try transfer("held")["error"].isNull)

    let waiting = try transfer("waiting")
    #expect(waiting["reason"].text == "needs:slow")
    for key in ["size", "chunk_size", "started_at", "duration_s", "error"] {
      #expect(waiting[key].isNull, "\(key)")
    }
    #expect(waiting["chunks", "total"].isNull)
    #expect(try transfer("gone")["chunk_size"].int == 8 << 20)
  }

  /// report.md: said once, referred to often. The longest that is still ordinary: a first completion, two checks.
  @Test(arguments: [
    [Verification("size", .server, .match), Verification("sha256", .manifest, .match)],
    [Verification("size", .server, .match), Verification("sha256", .server, .unavailable)],
  ])
  func `an ordinary transfer takes a line of at most 500 bytes`(_ checks: [Verification]) async throws {
    for (state, isNew) in [(TransferState.completed, true), (.upToDate(nil), false)] {
      let job = try await SampleJob()
      var progress = TransferProgress()
      progress.size = 300
      progress.remote.etag = "\"" + String(repeating: "ab", count: 16) + "\""
      progress.digests = [.sha256: String(repeating: "0f", count: 32)]
      progress.verification = checks
      progress.movedBecause = isNew ? .new : nil
      (progress.chunksTotal, progress.chunksCompleted, progress.contiguousBytes) = (1, 1, 300)
      (progress.transferred, progress.reused) = isNew ? (300, 0) : (0, 300)
      (progress.attempts, progress.requests, progress.maxChunkAttempts) = (1, 1, 1)
      progress.lastHTTPStatus = 200
      progress.duration = 0.012
      (progress.startedAt, progress.endedAt) = (SampleJob.start + 1, SampleJob.start + 1.012)
      progress.updatedAt = progress.endedAt
      try await job.settle("done", state, progress)
      var head = job.head
      head.previousStart = isNew ? 0 : SampleJob.start
      let out = Collector()
      try LedgerReport(
        head, ledger: job.ledger,
        capabilities: { _ in
          Capabilities(
            protocolName: "http", direction: .download, isResumable: true, isParallel: true, verifiedBy: [])
        }, describe: SampleJob.wire
      ).writeJSON(to: out.take)
      #expect(try Schemas.faults("report", [out.bytes]) == "")
      let line = try #require(out.text.split(separator: "\n").first { $0.hasPrefix("{\"id\":\"done\"") })
      #expect(line.utf8.count <= 500, "\(line)")
      let json = try Document(out.bytes)
      #expect(json["capabilities", "c1", "protocol"].text == "http")
      #expect(json["transfers", 0, "bytes", "transferred"].int == (isNew ? 300 : 0))
      // What proves it, or else what was compared.
      let told = json["transfers", 0, "verification"].array.map { $0["check"].text ?? "" }
      #expect(told == checks.filter { $0.result == .match }.suffix(1).map(\.check))
      #expect((json["transfers", 0, "created_at"].text == nil) == isNew)
    }
  }

  /// What it had to wait for says nothing of it any more.
  @Test func `a transfer that has needs is as ordinary`() async throws {
    let job = try await SampleJob()
    var progress = TransferProgress()
    progress.size = 300
    (progress.chunksTotal, progress.chunksCompleted, progress.contiguousBytes) = (1, 1, 300)
    (progress.attempts, progress.requests, progress.maxChunkAttempts) = (1, 1, 1)
    try await job.settle("waiting", .completed, progress)
    let bytes = try report(job.head, job.ledger).bytes
    #expect(try Schemas.faults("report", [bytes]) == "")
    let done = try #require(Document(bytes)["transfers"].array.first { $0["id"].text == "waiting" })
    for name in ["chunks", "chunk_size", "attempts", "contiguous_bytes", "reason"] {
      #expect(!done.keys.contains(name), "\(name)")
    }
  }

  /// Most uploads have a session, which is closed once they are complete: 20,000 of them are not to take twice the room.
  @Test func `an upload is as ordinary once its session is closed`() async throws {
    for (session, isOrdinary) in [(SessionState.closed, true), (.finalizing, false)] {
      let job = try await SampleJob()
      var progress = TransferProgress()
      progress.size = 300
      progress.sessionState = session
      (progress.chunksTotal, progress.chunksCompleted, progress.contiguousBytes) = (1, 1, 300)
      (progress.attempts, progress.requests, progress.maxChunkAttempts) = (1, 3, 1)
      try await job.settle("done", .completed, progress)
      let bytes = try report(job.head, job.ledger).bytes
      #expect(try Schemas.faults("report", [bytes]) == "")
      let done = try #require(Document(bytes)["transfers"].array.first { $0["id"].text == "done" })
      #expect(done["session"].text == session.rawValue && done["size"].int == 300)
      for name in ["chunks", "chunk_size", "attempts", "contiguous_bytes", "reason"] {
        #expect(done.keys.contains(name) != isOrdinary, "\(name)")
      }
    }
  }

  @Test func `what goes along is said of what is complete`() async throws {
    for (state, completedAt) in [(TransferState.completed, SampleJob.start), (.paused(.retries), nil)]
      as [(TransferState, Double?)]
    {
      let job = try await SampleJob()
      var progress = TransferProgress()
      progress.completedAt = completedAt
      progress.attributes = KeptAttributes(preserved: [.mtime], lost: [.tags])
      try await job.settle("done", state, progress)
      let all = try Document(report(job.head, job.ledger).bytes)["transfers"].array
      let done = try #require(all.first { $0["id"].text == "done" })
      #expect(done["preserved"].array.compactMap(\.text) == (completedAt == nil ? [] : ["mtime"]))
      #expect(done["lost"].array.compactMap(\.text) == ["tags"])
    }
  }

  @Test func `a summary has totals and no transfers, and stays small`() async throws {
    let job = try await SampleJob(extra: 300)
    var head = job.head
    head.run?.leftManifest.count = 900
    head.run?.leftManifest.ids = (0..<100).map { "left/\($0)" }
    let pattern = try IDPattern(String(repeating: "left-*", count: 800))
    head.selection = SelectionReport(selection: .only(pattern), counts: StateCounts())
    let out = Collector()
    try LedgerReport(head, ledger: job.ledger, describe: SampleJob.wire).writeSummary(to: out.take)
    #expect(try Schemas.faults("report", [out.bytes]) == "")
    let json = try Document(out.bytes)
    #expect(out.bytes.count < 4096 && !json.keys.contains("transfers"))
    #expect(json["totals", "transfers"].int == 309 && json["left_manifest", "count"].int == 900)
  }

  @Test func `the current attempt ends as the head says`() async throws {
    let job = try await SampleJob()
    let json = try Document(report(job.head, job.ledger).bytes)
    #expect(json["run", "number"].int == 1 && json["run", "attempt"].int == 1)
    #expect(json["run", "duration_s"].double == 12.5)
    #expect(json["run", "attempts", 0, "exit_code"].int == 1)
    #expect(json["run", "attempts", 0, "bytes_transferred"].int == 900)
    #expect(json["run", "attempts", 0, "ended_at"].text == json["run", "ended_at"].text)
  }

  @Test func `no secret appears anywhere`() async throws {
    let job = try await SampleJob()
    let text = try report(job.head, job.ledger).text
    #expect(!text.contains(SampleJob.signature))
    #expect(!text.contains(SampleJob.password))
    #expect(text.contains("X-Plain"))
  }

  @Test func `keys come in the order of the document`() async throws {
    let job = try await SampleJob()
    let text = try report(job.head, job.ledger).text
    var from = text.startIndex
    let order = [
      "schema", "tool", "job", "run", "totals", "diagnostics", "causes", "left_manifest", "selection",
      "transfers_scope", "transfers", "id",
      "direction", "state", "reason", "session", "source", "destination", "url", "protocol", "remote_id",
      "version", "etag", "content_type", "size", "chunk_size", "chunks", "contiguous_bytes", "bytes",
      "digests",
      "verification", "moved_because", "policy", "capabilities", "attempts", "retries", "requests",
      "max_chunk_attempts", "last_http_status",
      "created_at", "updated_at", "started_at", "ended_at", "duration_s", "error",
    ]
    for key in order {
      let found = try #require(text[from...].firstRange(of: "\"\(key)\":"), "\(key)")
      from = found.upperBound
    }
    #expect(text.hasPrefix("{\n  \"schema\": \"haul.report/v1\",\n") && text.hasSuffix("\n}\n"))
  }

  @Test(arguments: [false, true])
  func `a very long plan lists what changed or did not complete`(all: Bool) async throws {
    let job = try await SampleJob(extra: 3)
    try job.forgetTouched()
    let out = Collector()
    var report = LedgerReport(job.head, ledger: job.ledger, includesAll: all, describe: SampleJob.wire)
    report.scopeLimit = 11
    report.pageSize = 2
    try report.writeJSON(to: out.take)
    let json = try Document(out.bytes)
    #expect(json["transfers_scope"].text == (all ? "all" : "changed"))
    let ids = json["transfers"].array.compactMap { $0["id"].text }
    let unfinished = ["broken", "slow", "held", "gone", "waiting", "off", "orphan"]
    #expect(ids == (all ? ["done", "same"] + unfinished + ["extra-0", "extra-1", "extra-2"] : unfinished))
    #expect(json["totals", "transfers"].int == 12)
    report.scopeLimit = 12
    let whole = Collector()
    try report.writeJSON(to: whole.take)
    #expect(try Document(whole.bytes)["transfers"].array.count == 12)
  }

  @Test func `pages of any size give the same report`() async throws {
    let job = try await SampleJob(extra: 7)
    var texts: Set<String> = []
    for size in [1, 2, 3, 8, 16, 500] {
      let out = Collector()
      var report = LedgerReport(job.head, ledger: job.ledger, describe: SampleJob.wire)
      report.pageSize = size
      try report.writeJSON(to: out.take)
      texts.insert(out.text)
    }
    #expect(texts.count == 1)
  }

  @Test func `bytes go out in pieces that do not grow with the plan`() async throws {
    let job = try await SampleJob(extra: 300)
    let out = try report(job.head, job.ledger)
    #expect(out.bytes.count > 80_000)
    #expect(out.largest < 70_000)
  }
}
