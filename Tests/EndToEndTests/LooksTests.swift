import Foundation
import TestSupport
import Testing

/// How an operator looks at a job: what it does and waits for, what its runs came to, when they stood still.
@Suite(.turns)
struct LooksTests {
  private static let many = 2000

  /// A job whose transfers wait for a window, but for two; one of these needs the other.
  private func bench() async throws -> Bench {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.serve("a.bin", size: 10_000)
    let rows = (0..<Self.many).map {
      "  - { id: in/f\($0), download: \"depot:a.bin\", to: in/f\($0).bin, policy: shut }"
    }
    func clock(_ minutes: Int) -> String {
      let time = Int(Date().timeIntervalSince1970) / 60 + minutes
      return String(format: "\"%02d:%02d\"", time / 60 % 24, time % 60)
    }
    try bench.writeJob(
      """
      version: 1
      job: looks
      endpoints: { depot: \(depot.endpoint) }
      policies: { shut: { timezone: UTC, window: [{ from: \(clock(60)), to: \(clock(120)) }] } }
      limits: { transfers: 2, bandwidth: 5MB/s, budget: { bytes: 1GB, per: month } }
      transfers:
        - { id: open, download: "depot:a.bin", to: open.bin }
        - { id: gone, download: "depot:none.bin", to: gone.bin }
        - { id: last, download: "depot:a.bin", to: last.bin, needs: [in/f7] }
      \(rows.joined(separator: "\n"))
      """)
    return bench
  }

  private func json(_ bench: Bench, _ arguments: [String], _ schema: String) async throws -> JSON {
    let end = try await bench.haul(arguments + ["--json"])
    #expect(end.status == 0, "\(arguments): \(end.errors)")
    let file = try bench.scratch.write("out.json", end.output)
    #expect(try await Schema.faults(of: file, name: schema) == "", "\(arguments)")
    return try JSON.parse(end.output)
  }

  private func lines(_ text: String) -> [Substring] { text.split(separator: "\n") }

  @Test func aLongPlanIsOnOneScreenAndItsPausesAreOnRecord() async throws {
    let bench = try await bench()
    let plan = try await bench.haul(["plan", "job.yaml"])
    #expect(
      plan.output.contains("limits of the job: 2 transfers, 5 MB/s, 1 GB a month"),
      "\(plan.output.suffix(500))")
    let planned = try await json(bench, ["plan", "job.yaml"], "plan")
    #expect(planned["job"]["limits"]["transfers"].int == 2)
    #expect(
      planned["transfers"][0]["policy"]["effective"]["job_limits"]["budget"]["bytes"].int == 1_000_000_000)
    let run = try await bench.run(nil, ["--no-wait"])
    #expect(run.status == 2 && run.faults == "", "\(run.errors)")
    // The summary says when, where, what and where more is.
    for part in [
      " UTC on ", "\n  manifest job.yaml, SHA-256 ", "\n  exit code 2: ",
      "\n  report \(bench.state)/looks/reports/", "haul report looks --failed --ids",
    ] { #expect(run.errors.contains(part), "\(part): \(run.errors)") }
    let paused = run.report["run"]["pauses"].array
    #expect(paused.map { $0["reason"].string } == ["window"] && paused[0]["subject"].string == "shut")
    #expect(paused[0]["ended_at"].isNull, "\(paused)")
    let status = try await bench.haul(["status", "looks"])
    #expect(status.status == 0 && lines(status.output).count <= 24, "\(status.output)")
    for part in [
      "limits of the job: 2 transfers, 5 MB/s, 1 GB a month (",
      "nothing runs; last run failed (exit code 2), ended 20",
      "paused \(Self.many) transfers (window), until 20", ": policy `shut`",
      "in/f0, in/f1, in/f2 and 1997 more",
      "queued last (needs): `in/f7` is to complete first", "next: the window of policy `shut` opens at 20",
      "failed gone: NOT_FOUND",
    ] { #expect(status.output.contains(part), "\(part): \(status.output)") }
    let report = try await json(bench, ["status", "looks"], "report")
    #expect(report["job"]["limits"]["bandwidth"]["download"].int == 5_000_000)
    #expect(report["policies"]["p1"]["job_limits"]["transfers"].int == 2)
    let waiting = report["status"]["waiting"].array
    #expect(waiting.map { $0["reason"].string } == ["window", "needs"], "\(waiting)")
    #expect(waiting[0]["count"].int == Int64(Self.many) && waiting[0]["ids"].array.count == 3)
    #expect(report["status"]["next"][0]["event"].string == "window_opens")
    let summary = try await bench.haul(["status", "looks", "--json", "--summary"])
    #expect(summary.output.utf8.count < 4096, "\(summary.output.utf8.count)")
    let short = try JSON.parse(summary.output)
    #expect(short["status"]["waiting"][0]["count"].int == Int64(Self.many))

    // A run that waits says so, and a stop is a pause until the next attempt.
    let events = bench.scratch.path + "/events.jsonl"
    let running = try bench.start(bench.runArguments(["--events", events]))
    while !JSON.lines(events).contains(where: { $0["event"].string == "policy_held" }) {
      try #require(running.isAlive, "\(running.errors)")
      try await Task.sleep(for: .milliseconds(50))
    }
    let waits = try await bench.haul(["status", "looks"])
    #expect(waits.output.contains("; its run waits"), "\(waits.output)")
    running.signal(SIGINT)
    let second = try await HaulRun(running.wait(), reportPath: bench.reportPath)
    #expect(second.status == 2 && second.faults == "", "\(second.errors)")
    let both = second.report["run"]["pauses"].array
    #expect(both.contains { $0["reason"].string == "interrupted" }, "\(both)")
    #expect(both.count { $0["reason"].string == "window" } >= 1, "\(both)")
    let page = try await bench.haul(["report", "looks", "--format", "html"])
    #expect(page.output.contains("Paused: window</span><span>shut: "), "no lane of pauses")

    let history = try await json(bench, ["history", "looks"], "history")
    let last = history["runs"][0]
    #expect(last["paused"].int == Int64(Self.many) && last["failed"].int == 1 && last["completed"].int == 1)
    #expect(last["transfers"].int == Int64(Self.many) + 3 && last["attempt_count"].int == 2)
    let text = try await bench.haul(["history", "looks"])
    #expect(text.output.contains("1/2") && text.output.contains("  \(Self.many + 1)  "), "\(text.output)")
  }
}
