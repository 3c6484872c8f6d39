import Foundation
import JobLedger
import JobModel
import Testing

@testable import Reporting

@Suite struct SummaryTests {
  @Test func `the summary tells the outcome, the totals and what needs attention`() async throws {
    let job = try await SampleJob()
    let text = try ReportText(job.head, ledger: job.ledger, isColoured: false).text()
    let expected = """
      nightly: failed (run 1, 13 s)
        9 transfers: 1 completed, 1 up to date, 1 queued, 2 paused, 1 failed, 2 skipped, 1 canceled
        900 B transferred (72 B/s), 1.5 KiB reused, 200 B discarded; 10 requests, 9 retries
        2023-11-14 22:13:20 to 22:13:32 UTC on build-1, haul 0.1.0
        manifest jobs/nightly.yaml, SHA-256 abababababab…
        exit code 1: \(ExitStatus.failed.meaning)

      failed broken: INTEGRITY_MISMATCH: the bytes of https://h.example/broken?*** differ
        https://h.example/broken?*** -> broken
        hint: \(ErrorCode.integrityMismatch.hint)
      skipped orphan (needs:broken)
        https://h.example/orphan?*** -> orphan
        hint: \(ErrorCode.needsFailed.hint)
      paused slow (retries): TIMEOUT: no answer in 60 s
        in/slow -> store:slow
        hint: \(ErrorCode.timeout.hint)
      paused held (user)
        in/held -> store:held
        hint: `haul resume` lets it go on
      queued waiting (needs:slow)
        https://h.example/waiting?*** -> waiting
        hint: it has its turn when that one is complete

      job.yaml:12:5: warning: redirected to https://h.example/a?***
        hint: name the target itself

      next: `haul report nightly --failed --ids` lists what is left, one id a line

      """
    #expect(text == expected)
  }

  /// `--failed` would list nothing.
  @Test func `a user's pause alone leaves no ids to list`() async throws {
    let job = try await SampleJob()
    let writer = LedgerWriter(job.ledger) { _ in }
    for transfer in try job.ledger.page(after: 0, onlyTouched: false, limit: 100) where transfer.id != "held"
    {
      writer.submit(.state(seq: transfer.seq, .completed))
    }
    try await writer.barrier()
    try writer.close()
    var head = job.head
    head.outcome = .incomplete
    let text = try ReportText(head, ledger: job.ledger, isColoured: false).text()
    #expect(text.contains("incomplete; what is paused waits for `haul resume nightly`"), "\(text)")
    #expect(!text.contains("\nnext: "), "\(text)")
  }

  @Test func `colours come only when asked for`() async throws {
    let job = try await SampleJob()
    let plain = try ReportText(job.head, ledger: job.ledger, isColoured: false).text()
    let coloured = try ReportText(job.head, ledger: job.ledger, isColoured: true).text()
    #expect(!plain.contains("\u{1b}"))
    #expect(coloured.contains("\u{1b}[31mfailed\u{1b}[0m"))
  }

  @Test func `what is common is told once`() async throws {
    let job = try await SampleJob(extra: 60)
    let writer = LedgerWriter(job.ledger) { _ in }
    for seq in Int64(10)..<70 {
      var progress = TransferProgress()
      let code: ErrorCode = seq < 60 ? .notFound : .permissionDenied
      progress.failure = Failure(code, "download: HTTP 404 from https://h.example/dir/\(seq).bin")
      writer.submit(.progress(seq: seq, progress))
      writer.submit(.state(seq: seq, .failed))
    }
    try await writer.barrier()
    try writer.close()
    let text = try ReportText(job.head, ledger: job.ledger, isColoured: false).text()
    let common = "download: HTTP 404 from https://h.example/…"
    #expect(
      text.contains("\nfailed 50 transfers: NOT_FOUND: \(common)\n  extra-0, extra-1, extra-2 and 47 more\n"))
    #expect(text.contains("\nfailed 10 transfers: PERMISSION_DENIED: "))
    let out = Collector()
    try LedgerReport(job.head, ledger: job.ledger, describe: SampleJob.wire).writeJSON(to: out.take)
    #expect(try Schemas.faults("report", [out.bytes]) == "")
    let causes = try Document(out.bytes)["causes"].array
    #expect(causes.map { $0["count"].int } == [50, 10, 1, 1])
    #expect(causes[0]["host"].text == "h.example" && causes[1]["host"].isNull)
    #expect(causes[0]["message"].text == common && causes[0]["ids"].array.count == 3)
  }

  @Test func `many causes take bounded room`() async throws {
    let job = try await SampleJob(extra: 900)
    let writer = LedgerWriter(job.ledger) { _ in }
    for seq in Int64(10)..<910 {
      var progress = TransferProgress()
      progress.failure = Failure(.protocolViolation, "the server said word\(seq)word")
      writer.submit(.progress(seq: seq, progress))
      writer.submit(.state(seq: seq, .failed))
    }
    try await writer.barrier()
    try writer.close()
    let list = try CauseList(job.ledger, try job.ledger.counts(), describe: SampleJob.wire)
    #expect(list.groups.count <= CauseTally.limit + 5 && list.total == 905)
    #expect(list.groups.reduce(0) { $0 + $1.tally.count } == 905)
    let text = try ReportText(job.head, ledger: job.ledger, isColoured: false).text()
    #expect(text.contains(" more; the report has them all\n"), "\(text.suffix(300))")
  }

  @Test func `a run that never began is told in its diagnostics`() throws {
    var head = ReportHead(toolVersion: "1", jobName: nil)
    head.manifest = "job.yaml"
    head.outcome = .invalid
    head.diagnostics = [RecordedDiagnostic(Diagnostic(.error, "bad \u{1b}[0m key"))]
    let text = try ReportText(head, ledger: nil, isColoured: false).text()
    #expect(
      text == "job.yaml: invalid; the manifest has errors, nothing was done\n\nerror: bad \\x1b[0m key\n")
  }

  @Test func `times are the machine's, and the report is named where it is kept`() async throws {
    let job = try await SampleJob()
    var head = job.head
    head.zone = CivilZone(offset: { _ in 5400 }, nextChange: { _ in nil })
    head.reportFolder = job.folder + "/reports"
    var text = try ReportText(head, ledger: job.ledger, isColoured: false).text()
    #expect(text.contains("\n  2023-11-14 23:43:20 to 23:43:32 +01:30 on build-1"), "\(text)")
    #expect(!text.contains("\n  report "))
    let path = job.folder + "/reports/01RUN.json"
    try FileManager.default.createDirectory(
      atPath: job.folder + "/reports", withIntermediateDirectories: true)
    try Data().write(to: URL(filePath: path))
    head.endedAt = SampleJob.start + 86_400
    text = try ReportText(head, ledger: job.ledger, isColoured: false).text()
    #expect(text.contains("\n  report \(path)\n"), "\(text)")
    #expect(text.contains("\n  2023-11-14 23:43:20 to 2023-11-15 23:43:20 +01:30 on"), "\(text)")
  }

  @Test func `history is newest first`() async throws {
    let job = try await SampleJob()
    try job.ledger.endAttempt(
      run: 1, outcome: .failed, exitCode: 1, isOver: true, bytesTransferred: 900, scope: nil,
      at: SampleJob.start + 12.5)
    _ = try job.ledger.startRun(id: "02RUN", overrides: ["a": "secret"], at: SampleJob.start + 100)
    let history = History(job: "nightly", runs: try job.ledger.runs(limit: 10))
    let out = Collector()
    try history.writeJSON(toolVersion: "1", to: out.take)
    #expect(try Schemas.faults("history", [out.bytes]) == "")
    let json = try Document(out.bytes)
    #expect(json["runs"].array.map { $0["number"].int } == [2, 1])
    #expect(json["runs", 1, "bytes_transferred"].int == 900 && json["runs", 0, "outcome"].isNull)
    // What a run came to is kept with it, as flat numbers.
    #expect(json["runs", 1, "completed"].int == 1 && json["runs", 1, "up_to_date"].int == 1)
    #expect(json["runs", 1, "failed"].int == 1 && json["runs", 1, "transfers"].int == 9)
    #expect(json["runs", 1, "retries"].int == 9 && json["runs", 1, "bytes_reused"].int == 1500)
    #expect(json["runs", 1, "attempt_count"].int == 1 && json["runs", 1, "active_s"].double == 12.5)
    #expect(json["runs", 0, "failed"].isNull && json["runs", 0, "active_s"].isNull)
    #expect(!out.text.contains("secret"))
    let lines = history.text().split(separator: "\n")
    #expect(lines.count == 3, "\(lines)")
    #expect(
      lines[2].hasPrefix(
        "1    2023-11-14 22:13:20 UTC  13 s  failed   1     1     1     1       3     900 B"),
      "\(lines)")
    // A run's id is what a narrow terminal can do without.
    let narrow = history.text(columns: 95).split(separator: "\n")
    #expect(lines[2].hasSuffix("  01RUN") && narrow[0].hasSuffix("  RETRIES"), "\(narrow)")
    #expect(history.text(columns: 200) == history.text())
    #expect(History(job: "x", runs: []).text() == "x: no runs yet\n")
  }
}
