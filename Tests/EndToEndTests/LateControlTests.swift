import Foundation
import TestSupport
import Testing

/// Controls that come when a run ends, or is killed: who asked is told what became of them, and no later run is struck.
@Suite(.turns)
struct LateControlTests {
  private let bench: Bench

  init() throws { bench = try Bench() }

  private func job(rate: Int?, on: String = "") async throws {
    let depot = try await Depot(bench, faults: rate.map(Depot.slow) ?? [])
    for name in ["a", "b"] { try bench.serve("\(name).bin", size: 1 << 20) }
    try bench.writeJob(
      """
      version: 1
      job: late
      endpoints: { depot: \(depot.endpoint) }
      defaults: { chunk_size: 128KiB }
      \(on)
      transfers:
        - { id: a, download: "depot:a.bin", to: a.bin }
        - { id: b, download: "depot:b.bin", to: b.bin }

      """)
  }

  private func sql(_ text: String) throws -> String {
    try Sums.shell("sqlite3 -cmd '.timeout 100' plan.sqlite \(quoted(text))", in: bench.state + "/late")
  }

  /// A run that is stopped (SIGSTOP) while it moves bytes, and does not hold up who writes to the state.
  private func frozen() async throws -> Running {
    let events = bench.scratch.path + "/events.jsonl"
    let running = try bench.start(bench.runArguments(["--events", events]))
    try await Midway.chunks(1, of: ["a", "b"], in: events, running)
    for _ in 0..<50 {
      running.signal(SIGSTOP)
      if (try? sql("BEGIN IMMEDIATE; ROLLBACK")) != nil { return running }
      running.signal(SIGCONT)
      try await Task.sleep(for: .milliseconds(20))
    }
    throw TestFault("the run was always amid a commit")
  }

  @Test(arguments: ["pause", "cancel", "limit"]) func aRunThatIsKilled(_ verb: String) async throws {
    try await job(rate: 128 << 10)
    let running = try await frozen()
    let control = try bench.start(verb == "limit" ? [verb, "late", "64KiB/s"] : [verb, "late"])
    while try control.isAlive && sql("SELECT count(*) FROM control") != "1\n" {
      try await Task.sleep(for: .milliseconds(20))
    }
    running.signal(SIGKILL)
    let end = try await control.wait()
    #expect(end.status == 0, "\(end)")
    #expect(end.errors.contains(verb == "limit" ? "from its next run on" : "\(verb): 2 transfers"), "\(end)")
    let undo =
      ["pause": "resume", "cancel": "retry"][verb].map { [$0, "late"] } ?? [verb, "late", "default"]
    #expect(try await bench.haul(undo).status == 0)
    let run = try await bench.run(nil)
    #expect(run.status == 0 && run.totals["completed"].int == 2, "\(run.errors)")
    #expect(run.report["job"]["bandwidth"] == .null)
  }

  /// Who is told after 5 s that nothing was changed can rely on it.
  @Test func whatWasGivenUpIsNotApplied() async throws {
    try await job(rate: 256 << 10)
    let running = try await frozen()
    let end = try await bench.haul(["cancel", "late"])
    #expect(end.status == 75 && end.errors.contains("nothing was changed"), "\(end)")
    running.signal(SIGCONT)
    let run = try await HaulRun(running.wait(), reportPath: bench.reportPath)
    #expect(run.status == 0 && run.totals["completed"].int == 2, "\(run.errors)")
  }

  /// Nor is what its user has interrupted: it takes nobody by surprise a minute later.
  @Test func whatWasInterruptedIsNotApplied() async throws {
    try await job(rate: 256 << 10)
    let running = try await frozen()
    let cancel = try bench.start(["cancel", "late"])
    while try !cancel.listensToSignals || sql("SELECT count(*) FROM control") != "1\n" {
      try #require(cancel.isAlive, "\(cancel.errors)")
      try await Task.sleep(for: .milliseconds(10))
    }
    cancel.signal(SIGINT)
    let end = try await cancel.wait()
    #expect(end.status == 75 && end.errors.contains("nothing was changed"), "\(end)")
    running.signal(SIGCONT)
    let run = try await HaulRun(running.wait(), reportPath: bench.reportPath)
    #expect(run.status == 0 && run.totals["completed"].int == 2, "\(run.errors)")
  }

  /// What stands on record is settled before the next control, and before the next run begins.
  @Test func whatIsLeftOnRecord() async throws {
    try await job(rate: 256 << 10)
    #expect(try await Midway.stop(bench, after: 1, of: ["a", "b"]).status == 75)
    func leave(_ verb: String, isBegun: Bool) throws {
      let changed = isBegun ? "0" : "NULL"
      _ = try sql(
        "INSERT INTO control (verb, ids, requested_at, changed) VALUES ('\(verb)', '[]', 1000, \(changed))")
    }
    // Its user was told that it is applied to its end; he who asked for the other one was killed.
    try leave("cancel", isBegun: true)
    try leave("pause", isBegun: false)
    let retry = try await bench.haul(["retry", "late"])
    #expect(retry.status == 0 && retry.errors.contains("retry: 2 transfers"), "\(retry)")
    try leave("pause", isBegun: true)
    try leave("cancel", isBegun: false)
    let paused = try await bench.run(nil)
    #expect(paused.status == 75 && paused.state("a") == "paused user", "\(paused.errors)")
    #expect(try await bench.haul(["resume", "late"]).status == 0)
    let run = try await bench.run(nil)
    #expect(run.status == 0 && run.totals["completed"].int == 2, "\(run.errors)")
    #expect(try sql("SELECT count(*) FROM control WHERE applied_at IS NULL") == "0\n")
  }

  /// Its transfers have all ended; the run still tells of it, and takes no request any more.
  @Test func aRunThatEnds() async throws {
    try await job(rate: nil, on: "on: { end: [ { command: [sh, -c, \"touch ending; sleep 12\"] } ] }")
    let running = try bench.start(bench.runArguments())
    while !bench.exists("ending") {
      try #require(running.isAlive, "\(running.errors)")
      try await Task.sleep(for: .milliseconds(20))
    }
    let controls = try [["cancel", "late"], ["pause", "late"], ["limit", "late", "64MiB/s"]].map {
      try bench.start($0)
    }
    let words = ["cancel: 0 transfers", "pause: 0 transfers", "from its next run on"]
    for (control, words) in zip(controls, words) {
      let end = try await control.wait()
      #expect(end.status == 0 && end.errors.contains(words), "\(end)")
    }
    #expect(try await running.wait().status == 0)
    try bench.serve("a.bin", size: 1 << 20, seed: 7)
    let next = try await bench.run(nil)
    #expect(next.status == 0 && next.state("a") == "completed", "\(next.errors)")
    #expect(try bench.isSame("a.bin", "a.bin"))
  }
}
