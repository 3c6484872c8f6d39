import Foundation
import TestSupport
import Testing

/// Policies about time and amounts, from the command line to the report.
@Suite(.turns)
struct PolicyTests {
  /// One download under a policy.
  private func bench(_ policy: String, size: Int = 3_000_000) async throws -> (Bench, Depot) {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.serve("a.bin", size: size)
    try bench.writeJob(
      """
      version: 1
      job: timed
      endpoints: { depot: \(depot.endpoint) }
      policies:
        p: \(policy)
      defaults: { policy: p, chunk_size: 64KiB }
      transfers:
        - { id: a, download: "depot:a.bin", to: a.bin }

      """)
    return (bench, depot)
  }

  /// `HH:MM` in UTC, so many minutes from now.
  private func clock(_ minutes: Double) -> String {
    let day = Int(Date().timeIntervalSince1970 / 60 + minutes) % 1440
    return "\"" + String(format: "%02d:%02d", day / 60, day % 60) + "\""
  }

  private func until(_ what: String, _ condition: () async throws -> Bool) async throws {
    for _ in 0..<600 {
      if try await condition() { return }
      try await Task.sleep(for: .milliseconds(100))
    }
    throw TestFault("in a minute there was no \(what)")
  }

  @Test func outsideItsWindowARunEndsOrWaits() async throws {
    let (bench, depot) = try await bench(
      "{ timezone: UTC, window: [{ from: \(clock(60)), to: \(clock(120)) }] }")
    let run = try await bench.run(nil, ["--no-wait"])
    #expect(run.status == 75 && run.state("a") == "paused window", "\(run.errors)")
    #expect(run["a"]["resumes_at"].string != nil && run.transferred == 0)
    #expect(try await depot.log().isEmpty)
    let events = bench.scratch.path + "/events.jsonl"
    let waiting = try bench.start(bench.runArguments(["--events", events]))
    try await until("hold") { JSON.lines(events).contains { $0["event"].string == "policy_held" } }
    let hold = try #require(JSON.lines(events).first { $0["event"].string == "policy_held" })
    #expect(hold["policy"].string == "p" && hold["reason"].string == "window")
    #expect(hold["until"].string == run["a"]["resumes_at"].string)
    let status = try await bench.haul(["status", "timed"])
    #expect(status.output.contains("paused a (window), until 20"), "\(status.output)")
    waiting.signal(SIGINT)
    #expect(try await waiting.wait().status == 75)
  }

  /// A run that waits ends once nothing is left that it waits for.
  @Test(arguments: [("cancel", 0 as Int32, "canceled"), ("pause", 75, "paused user")])
  func aRunWaitsForNothingThatAUserTookOut(_ verb: String, _ status: Int32, _ state: String) async throws {
    let (bench, _) = try await bench(
      "{ timezone: UTC, window: [{ from: \(clock(60)), to: \(clock(120)) }] }")
    let events = bench.scratch.path + "/events.jsonl"
    let waiting = try bench.start(bench.runArguments(["--events", events]))
    try await until("hold") { JSON.lines(events).contains { $0["event"].string == "policy_held" } }
    #expect(try await bench.haul([verb, "timed"]).status == 0)
    let run = try await HaulRun(try await waiting.wait(), reportPath: bench.reportPath)
    #expect(run.status == status && run.state("a") == state && run.faults == "", "\(run.errors)")
  }

  @Test func aRunGoesOnWhenItsWindowOpens() async throws {
    // The window opens with the next minute.
    let (bench, _) = try await bench("{ timezone: UTC, window: [{ from: \(clock(1)), to: \(clock(60)) }] }")
    let run = try await bench.run(nil)
    #expect(run.status == 0, "\(run.errors)")
    #expect(try bench.isSame("a.bin", "a.bin"))
  }

  /// Our own throttling is neither a stall nor a silent server, whatever the chunk.
  @Test(arguments: ["8MiB", "700"]) func aKilobyteASecond(chunk: String) async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.serve("a.bin", size: 4000)
    try bench.source("u.bin", size: 4000)
    let run = try await bench.run(
      """
      version: 1
      job: low
      endpoints: { depot: \(depot.endpoint) }
      policies: { p: { bandwidth: 1KB/s, timeouts: { request: 2s, stall: 2s } } }
      defaults: { policy: p, chunk_size: \(chunk) }
      transfers:
        - { id: a, download: "depot:a.bin", to: a.bin }
        - { id: b, download: "depot:a.bin", to: b.bin }
        - { id: u, upload: u.bin, to: "depot:in/u.bin" }

      """)
    #expect(run.status == 0 && run.totals["retries"].int == 0, "\(run.errors)")
    #expect(try bench.isSame("a.bin", "a.bin"))
    #expect(try Sums.file(bench.served + "/in/u.bin") == Sums.file(bench.job + "/u.bin"))
  }

  @Test func aDeadlineOfAPolicy() async throws {
    let (bench, _) = try await bench("{ bandwidth: 300KB/s, deadline: 3s }")
    let run = try await bench.run(nil)
    #expect(run.status == 75 && run.state("a") == "paused deadline", "\(run.errors)")
    // What was recorded stands.
    #expect((100_000..<2_000_000).contains(run.transferred), "\(run.transferred)")
    _ = try await bench.haul(["limit", "timed", "unlimited"])
    let second = try await bench.run(nil)
    #expect(second.status == 0 && second["a"]["bytes"]["discarded"].int ?? 0 < 500_000, "\(second.errors)")
    #expect(try bench.isSame("a.bin", "a.bin"))
  }

  @Test func aBudgetIsKeptAcrossRuns() async throws {
    let (bench, _) = try await bench("{ budget: { bytes: 1MB, per: month }, timezone: UTC }")
    let run = try await bench.run(nil)
    #expect(run.status == 75 && run.state("a") == "paused budget", "\(run.errors)")
    #expect(run["a"]["resumes_at"].string?.hasSuffix("-01T00:00:00.000Z") == true)
    #expect((1_000_000..<2_000_000).contains(run.transferred), "\(run.transferred)")
    let second = try await bench.run(nil, ["--new-run"])
    #expect(second.status == 75 && second.transferred == 0 && second.state("a") == "paused budget")
  }

  /// A fast server brings no more than the pieces that were on their way when the last byte was spent.
  @Test(arguments: ["8MiB", "256KiB"]) func aBudgetIsNotRunOver(_ chunk: String) async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.serve("a.bin", size: 100 << 20)
    let run = try await bench.run(
      """
      version: 1
      job: fast
      endpoints: { depot: \(depot.endpoint) }
      defaults: { chunk_size: \(chunk), policy: { budget: { bytes: 5MB, per: month }, timezone: UTC } }
      transfers:
        - { id: a, download: "depot:a.bin", to: a.bin }

      """)
    #expect(run.status == 75 && run.state("a") == "paused budget", "\(run.errors)")
    #expect((5_000_000..<5_300_000).contains(run.transferred), "\(run.transferred)")
  }

  /// Chunks as large as the budget would never be whole: smaller ones are sent, or the upload is refused.
  @Test func aBudgetBelowAChunk() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    let web = try await PolicyServer(bench)
    try bench.source("u.bin", size: 3_000_000)
    func yaml(_ to: String, _ budget: Int) -> String {
      """
      version: 1
      job: small
      endpoints: { depot: \(depot.endpoint), web: { type: http, url: \(quoted(web.url)) } }
      defaults: { chunk_size: 8MiB, policy: { budget: { bytes: \(budget), per: day }, timezone: UTC } }
      transfers:
        - { id: u, upload: u.bin, to: "\(to)" }

      """
    }
    let first = try await bench.run(yaml("depot:u.bin", 1_000_000))
    #expect(first.status == 75 && first.state("u") == "paused budget", "\(first.errors)")
    #expect((1...999_999).contains(first["u"]["contiguous_bytes"].int ?? 0))
    #expect(first.remarks.contains("a spent budget throws away"), "\(first.remarks)")
    // Another budget, or another day: it goes on with what is there.
    let second = try await bench.run(yaml("depot:u.bin", 50_000_000))
    #expect(second.status == 0 && (second["u"]["bytes"]["reused"].int ?? 0) >= 0, "\(second.errors)")
    #expect(try await depot.log().chunks.map(\.offset).count > 1)
    #expect(try Sums.file(bench.served + "/u.bin") == Sums.file(bench.job + "/u.bin"))
    // The budget's last byte is the file's own: its answer is waited for.
    let exact = try await bench.run(yaml("depot:v.bin", 3_000_000), ["--new-run"])
    #expect(exact.status == 0 && exact["u"]["bytes"]["discarded"].int == 0, "\(exact.errors)")
    let whole = try await bench.run(yaml("web:u.bin", 900_000), ["--new-run"])
    #expect(whole.state("u") == "failed POLICY_DENIED" && web.requests().isEmpty, "\(whole.errors)")
    #expect(whole["u"]["error"]["message"].string?.contains("the budget of 900000 bytes a day") == true)
  }

  /// What can't be gone on with begins only where the budget covers all of it: else none of several would ever be whole.
  @Test func aBudgetThatCoversOneOfThree() async throws {
    let bench = try Bench()
    let web = try await PuttingServer(bench)
    let transfers = try (0..<3).map { number in
      try bench.source("f\(number)", size: 600_000)
      return "  - { id: t\(number), upload: f\(number), to: \"web:u\(number)\" }\n"
    }
    let run = try await bench.run(
      """
      version: 1
      job: shared
      endpoints: { web: { type: http, url: \(quoted(web.url)) } }
      defaults: { policy: { budget: { bytes: 1MB, per: month }, timezone: UTC } }
      transfers:
      \(transfers.joined())

      """)
    let states = (0..<3).map { run.state("t\($0)") }
    #expect(
      run.status == 75 && states.sorted() == ["completed", "paused budget", "paused budget"], "\(states)")
    #expect(run.totals["bytes"]["discarded"].int == 0 && run.transferred == 600_000, "\(run.errors)")
  }

  @Test func failuresOfAPolicyEndTheRun() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    let run = try await bench.run(
      """
      version: 1
      job: fragile
      endpoints: { depot: \(depot.endpoint) }
      policies: { p: { transfers: 1, fail_fast: { failures: 2 } } }
      defaults: { policy: p }
      transfers:
        - { id: a, download: "depot:a", to: a }
        - { id: b, download: "depot:b", to: b }
        - { id: c, download: "depot:c", to: c }
        - { id: d, download: "depot:d", to: d }

      """)
    #expect(run.status == 1 && run.outcome == "failed", "\(run.errors)")
    #expect(run.state("b") == "failed NOT_FOUND" && run.state("d") == "queued fail_fast")
  }

  /// Changed while it runs, both ways, and kept for the next run.
  @Test func haulLimit() async throws {
    let (bench, _) = try await bench("{ bandwidth: 20KB/s }", size: 1_500_000)
    let events = bench.scratch.path + "/events.jsonl"
    let running = try bench.start(bench.runArguments(["--events", events]))
    try await until("progress") { JSON.lines(events).contains { $0["rate"].double ?? 0 > 0 } }
    let change = try await bench.haul(["limit", "timed", "300KB/s", "--json"])
    #expect(change.status == 0, "\(change.errors)")
    #expect(try JSON.parse(change.output)["bandwidth"]["download"].int == 300_000)
    let status = try await bench.haul(["status", "timed"])
    #expect(status.output.contains("`haul limit`"), "\(status.output)")
    // At 20 KB/s it would take more than a minute.
    let first = try await HaulRun(running.wait(), reportPath: bench.reportPath)
    #expect(first.status == 0, "\(first.errors)")
    #expect(first.report["job"]["bandwidth"]["upload"].int == 300_000)
    #expect(JSON.lines(events).contains { $0["event"].string == "bandwidth_changed" })
    try FileManager.default.removeItem(atPath: bench.job + "/a.bin")
    let second = try await bench.run(nil)
    #expect(second.status == 0 && second.end.seconds > 3.5, "\(second.end.seconds)")
    #expect(try await bench.haul(["limit", "timed", "default"]).status == 0)
    #expect(try await bench.haul(["limit", "timed", "fast"]).status == 64)
    #expect(try await bench.haul(["limit", "nobody", "default"]).status == 66)
    let last = try await bench.haul(["status", "timed", "--json"])
    #expect(try JSON.parse(last.output)["job"]["bandwidth"]["download"].int == nil)
  }
}
