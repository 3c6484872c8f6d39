import Foundation
import TestSupport
import Testing

/// A job's state that is damaged, cut, replaced, newer, older or full: said clearly, with 73, and nothing starts anew
/// behind the user's back.
@Suite(.turns)
struct LedgerFaultsTests {
  private static let size = 4 << 20

  private func slowBench() async throws -> (Bench, Depot) {
    let bench = try Bench()
    let depot = try await Depot(bench, faults: Depot.slow(128 << 10))
    try bench.serve("a.bin", size: Self.size, seed: 41)
    try bench.source("up.bin", size: Self.size, seed: 42)
    try bench.writeJob(
      """
      version: 1
      job: ledger
      endpoints: { depot: \(depot.endpoint) }
      defaults: { chunk_size: 128KiB }
      transfers:
        - { id: down, download: "depot:a.bin", to: a.bin }
        - { id: up, upload: up.bin, to: "depot:in/up.bin" }

      """)
    return (bench, depot)
  }

  private func database(_ bench: Bench) -> String { bench.state + "/ledger/plan.sqlite" }

  private func sqlite(_ bench: Bench, _ sql: String) throws {
    _ = try Sums.shell("sqlite3 plan.sqlite \(quoted(sql)) >/dev/null", in: bench.state + "/ledger")
  }

  /// Every command that needs the state says what is wrong with it, with 73, and changes nothing.
  private func expectRefused(
    _ bench: Bench, _ depot: Depot, _ words: String..., sourceLocation: SourceLocation = #_sourceLocation
  )
    async throws
  {
    // What was under way is logged when depot notices the end.
    try await Task.sleep(for: .milliseconds(1500))
    let before = try await depot.log().count
    let listing = try Sums.shell("ls; cat plan.sqlite | sha256sum", in: bench.state + "/ledger")
    for command in [
      ["run", "job.yaml", "--no-progress"], ["run", "job.yaml", "--new-run", "--no-progress"],
      ["status", "ledger"],
      ["plan", "job.yaml"], ["history", "ledger"], ["pause", "ledger"], ["cancel", "ledger"],
    ] {
      let end = try await bench.haul(command)
      #expect(end.status == 73, "\(command): \(end.errors)", sourceLocation: sourceLocation)
      for word in words {
        #expect(end.errors.contains(word), "\(command): \(end.errors)", sourceLocation: sourceLocation)
      }
    }
    #expect(try await depot.log().count == before, sourceLocation: sourceLocation)
    let names = listing.split(separator: "\n").filter { !$0.contains("-wal") && !$0.contains("-shm") }
    let now = try Sums.shell("ls; cat plan.sqlite | sha256sum", in: bench.state + "/ledger")
    #expect(
      now.split(separator: "\n").filter { !$0.contains("-wal") && !$0.contains("-shm") } == names,
      sourceLocation: sourceLocation)
  }

  /// With the right file back, the run goes on from what was recorded.
  private func expectGoesOn(_ bench: Bench, sourceLocation: SourceLocation = #_sourceLocation) async throws {
    let run = try await bench.run()
    #expect(run.status == 0, "\(run.errors)", sourceLocation: sourceLocation)
    #expect(run.faults == "", sourceLocation: sourceLocation)
    #expect(run.report["run"]["number"].int == 1, sourceLocation: sourceLocation)
    for id in ["down", "up"] {
      #expect((run[id]["chunks"]["reused"].int ?? 0) >= 3, "\(id)", sourceLocation: sourceLocation)
    }
    #expect(try bench.isSame("a.bin", "a.bin"), sourceLocation: sourceLocation)
    #expect(
      try Sums.file(bench.served + "/in/up.bin") == Sums.file(bench.job + "/up.bin"),
      sourceLocation: sourceLocation)
  }

  @Test(arguments: [
    "truncate -s 0", "truncate -s 100", "truncate -s 4096", "truncate -s 20000", "truncate -s -4096",
    "head -c 60000 /dev/urandom >", "printf 'no database' >",
  ])
  func damagedPlan(_ how: String) async throws {
    let (bench, depot) = try await slowBench()
    #expect(try await Midway.stop(bench, after: 4, of: ["down", "up"]).status == 75)
    let folder = bench.state + "/ledger"
    _ = try Sums.shell("cp -a . ../kept && \(how) plan.sqlite", in: folder)
    try await expectRefused(bench, depot, "plan.sqlite", "can't be read", "restore")
    _ = try Sums.shell("rm -rf ledger && mv kept ledger", in: bench.state)
    try await expectGoesOn(bench)
  }

  /// A log that was cut, removed or spoilt after a kill would silently bring back an older state.
  @Test(arguments: [
    "rm", "truncate -s 0", "truncate -s 40", "truncate -s -50000", "printf XXXXXXXXXXXXXXXXXXXXXXXXX >",
  ])
  func damagedLog(_ how: String) async throws {
    let (bench, depot) = try await slowBench()
    let killed = try await kill(bench)
    #expect(killed.status == 128 + SIGKILL)
    let folder = bench.state + "/ledger"
    _ = try Sums.shell("test -s plan.sqlite-wal && cp -a . ../kept && \(how) plan.sqlite-wal", in: folder)
    try await expectRefused(bench, depot, "plan.sqlite", "lacks the last", "plan.commits")
    // Whoever wants to go on from the older state says so.
    _ = try Sums.shell("cp -a ledger older && rm older/plan.commits", in: bench.state)
    _ = try Sums.shell("rm -rf ledger && mv older ledger", in: bench.state)
    #expect(try await bench.haul(["status", "ledger"]).status == 0)
    _ = try Sums.shell("rm -rf ledger && mv kept ledger", in: bench.state)
    try await expectGoesOn(bench)
  }

  private func kill(_ bench: Bench) async throws -> Finished {
    let events = bench.scratch.path + "/killed.jsonl"
    let running = try bench.start(bench.runArguments(["--events", events]))
    try await Midway.chunks(6, of: ["down", "up"], in: events, running)
    running.signal(SIGKILL)
    return try await running.wait()
  }

  /// The plan itself is gone, or an older copy of it took its place.
  @Test(arguments: ["gone", "older"]) func planIsNotTheLatest(_ what: String) async throws {
    let (bench, depot) = try await slowBench()
    #expect(try await bench.haul(["run", "job.yaml", "--no-progress", "--deadline", "50ms"]).status == 75)
    let folder = bench.state + "/ledger"
    _ = try Sums.shell("cp plan.sqlite ../older.sqlite", in: folder)
    #expect(try await Midway.stop(bench, after: 4, of: ["down", "up"]).status == 75)
    _ = try Sums.shell("cp -a . ../kept && rm -f plan.sqlite*", in: folder)
    if what == "older" {
      _ = try Sums.shell("cp ../older.sqlite plan.sqlite", in: folder)
      try await expectRefused(bench, depot, "lacks the last", "older copy")
    } else {
      let end = try await bench.haul(["run", "job.yaml", "--no-progress"])
      #expect(end.status == 73 && end.errors.contains("it is gone"), "\(end.errors)")
      #expect(!FileManager.default.fileExists(atPath: database(bench)))
    }
    _ = try Sums.shell("rm -rf ledger && mv kept ledger", in: bench.state)
    try await expectGoesOn(bench)
  }

  @Test func newerAndOlderHaul() async throws {
    let (bench, depot) = try await slowBench()
    #expect(try await Midway.stop(bench, after: 4, of: ["down", "up"]).status == 75)
    try sqlite(bench, "INSERT INTO grdb_migrations VALUES ('999 of the future')")
    try await expectRefused(bench, depot, "newer haul", "use that version")
    // An older haul's plan has fewer tables: they are made, and all that was recorded stays.
    try sqlite(
      bench,
      "DELETE FROM grdb_migrations WHERE identifier NOT IN ('1 plan and progress', '2 controls', '10 part files');"
        + " DROP INDEX progress_inode; DROP INDEX progress_begun; DROP INDEX transfer_held; DROP INDEX transfer_retired;"
        + " DROP TABLE file_systems; DROP TABLE spending; DROP TABLE rest; DROP TABLE session_intent;"
        + " DROP TABLE written_file; DROP TABLE host; DROP TABLE former_endpoint; DROP TABLE host_rate; DROP TABLE host_concurrency;"
        + " DROP TABLE notice; DROP TABLE selected; DROP TABLE listed_name; DROP TABLE listing_part; DROP TABLE listing; DROP TABLE row_mark;"
        + [
          "diagnostic.count", "diagnostic.subjects", "run.is_over", "run.selection", "run.left_manifest",
          "run.totals", "run.pauses",
          "transfer.created_at", "progress.moved_because", "progress.automatic_chunk",
          "progress.source_object", "progress.copied_by", "progress.attach", "progress.attributes",
          "transfer.ordinal",
        ].map { $0.split(separator: ".") }.map { " ALTER TABLE \($0[0]) DROP COLUMN \($0[1]);" }.joined())
    try await expectGoesOn(bench)
  }

  /// The state's disk fills up in mid-run: the run ends with 73 and says so; with room, the same command goes on.
  @Test(.enabled(if: Mount.isAllowed, "needs root to mount")) func stateDiskFills() async throws {
    let (bench, depot) = try await slowBench()
    let mount = try Mount.small(2 << 20, at: bench.state)
    let (events, metrics) = (bench.scratch.path + "/events.jsonl", bench.scratch.path + "/haul.prom")
    let running = try bench.start(bench.runArguments(["--events", events, "--metrics", metrics]))
    try await Midway.chunks(4, of: ["down", "up"], in: events, running)
    _ = try? Sums.shell("cat /dev/zero > \(bench.state)/filler 2>/dev/null", in: "/")
    let end = try await running.wait()
    #expect(end.status == 73, "\(end.errors)")
    for words in ["plan.sqlite", "full", "run the same command again"] {
      #expect(end.errors.contains(words), "\(end.errors)")
    }
    #expect(!bench.exists("a.bin"))
    try await expectTold(end, bench, events, metrics)
    let still = try await bench.haul(["run", "job.yaml", "--no-progress"])
    #expect(still.status == 73 && still.errors.contains("full"), "\(still.errors)")
    _ = try Sums.shell("rm filler", in: bench.state)
    try await expectGoesOn(bench)
    #expect(try await depot.log().chunks.filter { $0.status == 201 }.count == Self.size / (128 << 10))
    withExtendedLifetime(mount) {}
  }

  /// The run's end is on record by then: what its report says is how the command ends.
  @Test(.enabled(if: Mount.isAllowed, "needs root to mount")) func stateDiskFillsBehindTheEnd() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    let mount = try Mount.small(32 << 20, at: bench.state)
    try bench.serve("a.bin", size: 10, seed: 43)
    let lines = (0..<500).map { "  - { id: a\($0), download: \"depot:a.bin\", to: out/a\($0) }" }
    try bench.writeJob(
      """
      version: 1
      job: ledger
      endpoints: { depot: \(depot.endpoint) }
      transfers:
      \(lines.joined(separator: "\n"))

      """)
    // The report waits in its pipe, which is too small for it, until the disk is full.
    let run =
      "\(quoted(Programs.haul)) run job.yaml --json --no-progress --state-dir \(quoted(bench.state)) 2>errors"
    let fill = "cat /dev/zero >\(quoted(bench.state + "/filler")) 2>/dev/null"
    let report = try JSON.parse(
      try Sums.shell("{ \(run); echo $? >status; } | { head -c 1; \(fill); cat; }", in: bench.job))
    let errors = try Sums.shell("cat errors", in: bench.job)
    #expect(try Sums.shell("cat status", in: bench.job) == "0\n", "\(errors)")
    #expect(report["run"]["exit_code"].int == 0 && report["totals"]["completed"].int == 500)
    _ = try Sums.shell("rm filler", in: bench.state)
    let again = try await bench.run()
    #expect(again.status == 0 && again.transferred == 0, "\(again.errors)")
    withExtendedLifetime(mount) {}
  }

  @Test func stateIsLostInMidRun() async throws {
    let (bench, _) = try await slowBench()
    let (events, metrics) = (bench.scratch.path + "/events.jsonl", bench.scratch.path + "/haul.prom")
    try Data("of yesterday".utf8).write(to: URL(fileURLWithPath: bench.reportPath))
    let running = try bench.start(bench.runArguments(["--events", events, "--metrics", metrics]))
    try await Midway.chunks(4, of: ["down", "up"], in: events, running)
    _ = try Sums.shell("rm -rf ledger", in: bench.state)
    try await expectTold(try await running.wait(), bench, events, metrics)
  }

  /// A request from another terminal finds first that the plan can't be read, while the run waits for its server alone.
  @Test func aRequestFindsThePlanUnreadable() async throws {
    let bench = try Bench()
    let server = try await WordedServer(
      bench, [.init("", status: 429, headers: ["Retry-After": "3600"])])
    let yaml = """
      version: 1
      job: ledger
      defaults: { policy: { retry: { attempts: 2 }, network: { proxy: none } } }
      transfers: [{ id: f, download: \(quoted(server.url + "/f")), to: f }]

      """
    #expect(try await bench.run(yaml).status == 75)
    let running = try bench.start(bench.runArguments())
    while running.isAlive, !running.errors.contains("paused (retries)") {
      try await Task.sleep(for: .milliseconds(10))
    }
    let sql =
      "ALTER TABLE transfer RENAME COLUMN id TO gone;"
      + " INSERT INTO control (verb, ids, requested_at) VALUES ('pause', '[]', 1)"
    _ = try Sums.shell(
      "sqlite3 -cmd '.timeout 2000' plan.sqlite \(quoted(sql))", in: bench.state + "/ledger")
    let end = try await running.wait()
    #expect(end.status == 73 && end.errors.contains("plan.sqlite"), "\(end.errors)")
  }

  /// Without the state nothing keeps another run from the job: what it wrote is newer.
  @Test func stateIsLostAndAnotherRunReports() async throws {
    let (bench, _) = try await slowBench()
    let events = bench.scratch.path + "/events.jsonl"
    let running = try bench.start(bench.runArguments(["--events", events]))
    try await Midway.chunks(4, of: ["down", "up"], in: events, running)
    running.signal(SIGSTOP)
    _ = try Sums.shell("rm -rf ledger", in: bench.state)
    try Data("of another run".utf8).write(to: URL(fileURLWithPath: bench.reportPath))
    running.signal(SIGCONT)
    #expect(try await running.wait().status == 73)
    #expect(try String(contentsOfFile: bench.reportPath, encoding: .utf8) == "of another run")
    #expect(JSON.lines(events).last?["event"].string == "run_ended")
  }

  /// The report, the metrics and the events tell the end of a run whose state can't.
  private func expectTold(_ end: Finished, _ bench: Bench, _ events: String, _ metrics: String) async throws {
    let run = try await HaulRun(end, reportPath: bench.reportPath)
    #expect(run.status == 73 && run.faults == "", "\(run.errors) \(run.faults)")
    #expect(run.outcome == "failed" && run.remarks.contains("ledger/plan."), "\(run.remarks)")
    let (told, lines) = (run.report["run"], JSON.lines(events))
    #expect(told["number"].int == 1 && told["attempts"][0]["exit_code"].int == 73)
    #expect(lines.count { $0["event"].string == "run_ended" } == 1)
    let last = try #require(lines.last)
    #expect(last["event"].string == "run_ended" && last["exit_code"].int == 73)
    #expect(last["run"].string == told["id"].string && last["report"].string == bench.reportPath)
    #expect(try await Schema.faults(of: events, name: "event", isLines: true) == "")
    let text = try String(contentsOfFile: metrics, encoding: .utf8)
    #expect(text.contains("haul_job_exit_code{job=\"ledger\"} 73\n"), "\(text)")
  }

  @Test(.enabled(if: Mount.isAllowed, "needs root to mount")) func stateIsReadOnly() async throws {
    let (bench, _) = try await slowBench()
    let mount = try Mount.small(8 << 20, at: bench.state)
    #expect(try await Midway.stop(bench, after: 4, of: ["down", "up"]).status == 75)
    try mount.change("ro")
    for command in [["run", "job.yaml", "--no-progress"], ["cancel", "ledger"]] {
      let end = try await bench.haul(command)
      #expect(end.status == 73 && end.errors.lowercased().contains("read"), "\(command): \(end.errors)")
    }
    try mount.change("rw")
    try await expectGoesOn(bench)
  }
}
