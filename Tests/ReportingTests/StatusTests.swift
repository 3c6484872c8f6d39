import JobLedger
import JobModel
import Testing

@testable import Reporting

/// What `haul status` says: what runs, what waits and why, what comes next; on one screen.
@Suite struct StatusTests {
  private static let now = SampleJob.start + 60

  private func look(_ job: SampleJob, _ head: ReportHead? = nil, isRunning: Bool = true) throws
    -> (ReportHead, JobSituation)
  {
    var head = head ?? job.head
    if isRunning { (head.outcome, head.exitCode, head.endedAt) = (nil, nil, nil) }
    return (
      head,
      try JobSituation(head, job.ledger, isRunning: isRunning, now: Self.now, zone: { _ in .utc })
    )
  }

  @Test func `a running job`() async throws {
    let job = try await SampleJob(withRunning: true)
    var (head, situation) = try look(job)
    let text = StatusText(head, situation, isColoured: false).text
    #expect(
      text.hasPrefix(
        "nightly: running (run 1, 1 min 0 s)\n  10 transfers: 1 completed, 1 up to date, 1 running,"))
    #expect(text.contains("\n  2.1/5.1+ KiB there\n") && !text.contains("now "))
    #expect(text.contains("\nrunning moving  0/1000 B (0%)\n"), "\(text)")
    #expect(text.contains("\nqueued waiting (needs): `slow` is to complete first\n"), "\(text)")
    #expect(text.contains("\npaused held (user); `haul resume` lets it go on\n"), "\(text)")
    #expect(text.contains("\nfailed broken: INTEGRITY_MISMATCH") && text.contains("\npaused slow (retries)"))
    // Watched, it tells the rate; what is left where all sizes are known.
    situation.rate = 100
    #expect(StatusText(head, situation, isColoured: false).text.contains(" there, now 100 B/s\n"))
    let out = Collector()
    var report = LedgerReport(head, ledger: job.ledger, describe: SampleJob.wire)
    report.situation = situation
    try report.writeJSON(to: out.take)
    #expect(try Schemas.faults("report", [out.bytes]) == "")
    let json = try Document(out.bytes)
    #expect(json["run", "outcome"].isNull && json["job", "state"].text == "running")
    #expect(json["totals", "running"].int == 1 && json["status", "running"].bool == true)
    #expect(json["status", "in_flight", 0, "id"].text == "moving")
    let waiting = json["status", "waiting"].array
    #expect(waiting.map { $0["reason"].text } == ["user", "needs"])
    #expect(waiting.map { $0["subject"].text } == [nil, "slow"] && waiting[1]["ids", 0].text == "waiting")
    head.limits.transfers = 2
    head.limits.budget = Budget(bytes: 300_000, period: .month)
    (head, situation) = try look(job, head)
    let limited = StatusText(head, situation, isColoured: false).text
    #expect(
      limited.contains("\n  limits of the job: 2 transfers, 300 KB a month (300 KB left)\n"), "\(limited)")
  }

  /// In a first run, while it lists: nothing is complete, because nothing is known.
  @Test func `a job without a plan`() async throws {
    let job = try await SampleJob()
    _ = try job.ledger.compile(at: SampleJob.start, batches: { _ in })
    let (planned, running) = try look(job)
    let text = StatusText(planned, running, isColoured: false).text
    #expect(text.hasPrefix("nightly: its plan is being made (run 1"), "\(text)")
    let (_, ended) = try look(job, isRunning: false)
    // A glob that found nothing is a plan, too.
    #expect(StatusText(planned, ended, isColoured: false).text.hasPrefix("nightly: completed"))
    var head = planned
    head.isPlanned = false
    let stopped = StatusText(head, ended, isColoured: false).text
    #expect(stopped.hasPrefix("nightly: not planned yet: its first run was stopped before"), "\(stopped)")
    for (situation, state) in [(running, "running"), (ended, "queued")] {
      let out = Collector()
      var report = LedgerReport(head, ledger: job.ledger, describe: SampleJob.wire)
      report.situation = situation
      try report.writeJSON(to: out.take)
      #expect(try Document(out.bytes)["job", "state"].text == state)
    }
  }

  @Test func `a window, a cool-down and an open breaker say when they end`() async throws {
    let job = try await SampleJob(extra: 12)
    let writer = LedgerWriter(job.ledger) { _ in }
    for seq in Int64(10)..<20 { writer.submit(.state(seq: seq, .paused(.window))) }
    for seq in Int64(20)..<22 { writer.submit(.state(seq: seq, .paused(.retries))) }
    writer.submit(.cooldown(origin: "https://h.example", until: Self.now + 30))
    try await writer.barrier()
    try writer.close()
    var head = job.head
    head.describe = { SampleJob.wire($0) }
    head.resumesAt = { state, _ in state == .paused(.window) ? Self.now + 3600 : nil }
    head.hosts = [
      HostStanding(
        host: "https://g.example", change: "opened", reason: "no answer", since: Self.now, until: Self.now + 5
      )
    ]
    let (shown, situation) = try look(job, head)
    let text = StatusText(shown, situation, isColoured: false).text
    #expect(
      text.contains(
        "\npaused 10 transfers (window), until 2023-11-14 23:14:20 UTC, in 1 h 0 min: policy `office`\n  extra-0, extra-1, extra-2 and 7 more\n"
      ), "\(text)")
    #expect(
      text.contains(
        "\npaused 2 transfers (retries), until 2023-11-14 22:14:50 UTC, in 30 s: https://h.example asked for a pause\n"
      ),
      "\(text)")
    let json = situation.json(limit: nil)
    #expect(
      json["next"].array?.map { $0["event"].string }
        == ["host_is_asked", "cooldown_ends", "window_opens"], "\(json.text)")
    // Nobody works on it: a run does not go on by itself.
    let (_, ended) = try look(job, head, isRunning: false)
    let left = StatusText(head, ended, isColoured: false).text
    #expect(left.contains("; run again inside the policy's `window`"), "\(left)")
    #expect(left.contains("\n  nothing runs; last run failed (exit code 1), ended 2023-11-14 22:13:32 UTC\n"))
  }

  @Test(arguments: [(80, 24), (40, 10), (200, 50), (80, 14)])
  func `it fits the screen`(columns: Int, rows: Int) async throws {
    let job = try await SampleJob(withRunning: true, extra: 300)
    let writer = LedgerWriter(job.ledger) { _ in }
    for seq in Int64(11)..<311 {
      let reasons = TransferState.PauseReason.allCases
      var progress = TransferProgress()
      progress.failure = Failure(.protocolViolation, "the server said word\(seq)word")
      writer.submit(.progress(seq: seq, progress))
      writer.submit(
        .state(
          seq: seq,
          seq % 3 == 0 ? .failed : seq % 3 == 1 ? .running : .paused(reasons[Int(seq) % reasons.count])))
    }
    try await writer.barrier()
    try writer.close()
    let (head, situation) = try look(job)
    for isColoured in [true, false] {
      let text = StatusText(head, situation, isColoured: isColoured, columns: columns, rows: rows).text
      let lines = text.split(separator: "\n", omittingEmptySubsequences: false).dropLast()
      #expect(lines.count < rows, "\(text)")
      for line in lines { #expect(DisplayText.width(DisplayText.withoutColours(String(line))) < columns) }
      // Each part has its place.
      if rows >= 24 {
        for word in ["running ", "paused ", "failed ", "more running", "more that failed"] {
          #expect(DisplayText.withoutColours(text).contains(word), "\(word): \(text)")
        }
      }
    }
    let out = Collector()
    var report = LedgerReport(head, ledger: job.ledger, describe: SampleJob.wire)
    report.situation = situation
    try report.writeSummary(to: out.take)
    #expect(out.bytes.count < 4096)
    #expect(try Schemas.faults("report", [out.bytes]) == "")
  }

  @Test func `a long text is cut with its colours and broken at blanks`() {
    let paint = Paint(isOn: true)
    #expect(DisplayText.clipped(paint.red("abc") + "defg", to: 5) == "\u{1b}[31mabc\u{1b}[0md…\u{1b}[0m")
    #expect(DisplayText.clipped(paint.red("abc"), to: 3) == paint.red("abc"))
    #expect(DisplayText.clipped("abcdef", to: 3) == "ab…")
    #expect(DisplayText.wrapped("aa bb cc", to: 5) == ["aa bb", "cc"])
    #expect(DisplayText.wrapped("aaaaaaa b", to: 3) == ["aa…", "b"])
  }
}
