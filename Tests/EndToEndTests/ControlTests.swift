import Foundation
import TestSupport
import Testing

/// Controls from another terminal, and between runs: within a second, and kept.
@Suite(.turns)
struct ControlTests {
  private func slowBench() async throws -> (Bench, Depot) {
    let bench = try Bench()
    let depot = try await Depot(
      bench,
      faults: [
        #"{"match": {"method": "GET", "path": "/files/*"}, "action": {"rate": "128KiB"}}"#,
        #"{"match": {"method": "PUT"}, "action": {"uploadRate": "128KiB"}}"#,
      ])
    try bench.serve("a.bin", size: 6 << 20, seed: 4)
    try bench.source("up.bin", size: 6 << 20, seed: 5)
    try bench.writeJob(
      """
      version: 1
      job: slow
      endpoints: { depot: \(depot.endpoint) }
      defaults: { chunk_size: 256KiB }
      transfers:
        - { id: down, download: "depot:a.bin", to: a.bin }
        - { id: up, upload: up.bin, to: "depot:in/up.bin" }

      """)
    return (bench, depot)
  }

  private func untilUnderWay(_ events: String) async throws {
    for _ in 0..<1000 {
      let done = JSON.lines(events).filter { $0["event"].string == "chunk_completed" }
      if Set(done.compactMap { $0["id"].string }).count == 2 { return }
      try await Task.sleep(for: .milliseconds(20))
    }
    throw TestFault("no chunks were completed")
  }

  @Test func pauseAndResume() async throws {
    let (bench, _) = try await slowBench()
    let events = bench.scratch.path + "/events.jsonl"
    let running = try bench.start(bench.runArguments(["--events", events]))
    try await untilUnderWay(events)
    let watching = try bench.start(["status", "slow", "--watch"])
    for verb in ["pause", "resume", "pause", "resume"] {
      let end = try await bench.haul([verb, "slow", "down"])
      #expect(end.status == 0 && end.errors.contains("\(verb): 1 transfer of"), "\(end.errors)")
    }
    #expect(try await bench.haul(["pause", "slow"]).status == 0)
    let first = try await HaulRun(running.wait(), reportPath: bench.reportPath)
    #expect(first.status == 75)
    #expect(first.state("down") == "paused user" && first.state("up") == "paused user")
    // Within a second, by the run's own record: a busy machine may double it, and hold up the slowest two of five.
    let waits = try Sums.shell(
      "sqlite3 plan.sqlite 'SELECT applied_at - requested_at FROM control ORDER BY 1'",
      in: bench.state + "/slow")
    let seconds = waits.split(separator: "\n").compactMap { Double($0) }
    #expect(seconds.count == 5 && seconds[2] < 2, "\(waits)")
    let seen = try await watching.wait()
    #expect(
      seen.status == 0 && seen.output.contains("running") && seen.output.contains("2 paused"), "\(seen)")
    // A user's pause outlives the run, and a new one.
    let second = try await bench.run(nil, ["--new-run"])
    #expect(second.status == 75 && second.state("down") == "paused user")
    #expect(second.transferred == 0)
    #expect(try await bench.haul(["resume", "slow", "down"]).status == 0)
    let third = try await bench.run(nil)
    #expect(third.state("down") == "completed" && third.state("up") == "paused user")
    #expect(try await bench.haul(["resume", "slow"]).status == 0)
    let last = try await bench.run(nil)
    #expect(last.status == 0, "\(last.errors)")
    #expect(try bench.isSame("a.bin", "a.bin"))
    #expect(try Sums.file(bench.served + "/in/up.bin") == Sums.file(bench.job + "/up.bin"))
  }

  /// What failed is tried again by the next run, unless it is named in a pause.
  @Test func aPauseOfWhatFailed() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.writeJob(
      """
      version: 1
      job: late
      endpoints: { depot: \(depot.endpoint) }
      transfers:
        - { id: a, download: "depot:a.bin", to: a.bin }
        - { id: b, download: "depot:a.bin", to: b.bin, needs: [a] }

      """)
    let first = try await bench.run(nil)
    #expect(first.state("a").hasPrefix("failed") && first.state("b").hasPrefix("skipped needs:a"))
    #expect(try await bench.haul(["pause", "late"]).errors.contains("pause: 0 transfers"))
    let pause = try await bench.haul(["pause", "late", "a", "b"])
    #expect(pause.errors.contains("pause: 2 transfers"), "\(pause.errors)")
    try bench.serve("a.bin", size: 1000, seed: 1)
    let second = try await bench.run(nil)
    #expect(second.status == 75 && second.transferred == 0, "\(second.errors)")
    #expect(second.state("a").hasPrefix("paused user") && second.state("b").hasPrefix("paused user"))
    #expect(try await bench.haul(["resume", "late"]).status == 0)
    let third = try await bench.run(nil)
    #expect(third.status == 0 && third.state("b") == "completed", "\(third.errors)")
  }

  /// What waits already has progress to forget, too; an id that nothing has is no success.
  @Test func retryFromScratchForgetsWhatIsQueued() async throws {
    let (bench, depot) = try await slowBench()
    #expect(try await Midway.stop(bench, after: 2, of: ["down", "up"]).status == 75)
    let status = try await bench.haul(["status", "slow"])
    // Two chunks each at the least, wherever they lie.
    #expect(status.output.contains("MiB there") && !status.output.contains("  0/"), "\(status.output)")
    for command in [["pause", "slow", "down", "nosuch"], ["retry", "slow", "zz/*"]] {
      let end = try await bench.haul(command)
      #expect(end.status == 66 && end.errors.contains(command.last ?? ""), "\(end.errors)")
    }
    #expect(try await bench.haul(["retry", "slow"]).errors.contains("2 transfers"))
    #expect(!bench.parts().isEmpty)
    let scratch = try await bench.haul(["retry", "slow", "--from-scratch"])
    #expect(scratch.status == 0 && scratch.errors.contains("2 transfers"), "\(scratch.errors)")
    #expect(bench.parts().isEmpty)
    #expect(try await depot.log().contains { $0.method == "DELETE" && $0.status == 204 })
    #expect(try await bench.haul(["retry", "slow", "--from-scratch"]).errors.contains("0 transfers"))
  }

  @Test func cancelLeavesNothingBehind() async throws {
    let (bench, depot) = try await slowBench()
    let events = bench.scratch.path + "/events.jsonl"
    let running = try bench.start(bench.runArguments(["--events", events]))
    try await untilUnderWay(events)
    #expect(try await bench.haul(["cancel", "slow"]).status == 0)
    let run = try await HaulRun(running.wait(), reportPath: bench.reportPath)
    #expect(run.status == 0 && run.outcome == "canceled", "\(run.errors)")
    #expect(bench.parts() == [] && !bench.exists("a.bin"))
    #expect(try await depot.log().contains { $0.method == "DELETE" && $0.status == 204 })
    #expect(try await bench.haul(["retry", "slow", "--from-scratch"]).status == 0)
    let again = try await bench.run(nil)
    #expect(again.status == 0, "\(again.errors)")
    #expect(try bench.isSame("a.bin", "a.bin"))
  }

  /// A control of a job at rest takes as long as its servers do: a run beside it is neither refused nor skipped.
  @Test func aRunWaitsForAControlAtRest() async throws {
    let (bench, depot) = try await slowBench()
    #expect(try await Midway.stop(bench, after: 2, of: ["down", "up"]).status == 75)
    depot.process.signal(SIGSTOP)
    let cancel = try bench.start(["cancel", "slow"])
    let begun =
      "sqlite3 plan.sqlite 'SELECT count(*) FROM control WHERE applied_at IS NULL AND changed IS NOT NULL'"
    for _ in 0..<1000 {
      if try Sums.shell(begun, in: bench.state + "/slow").hasPrefix("1") { break }
      try await Task.sleep(for: .milliseconds(10))
    }
    let run = try await bench.run(nil, ["--if-running", "skip"])
    #expect(run.status == 0 && run.outcome == "canceled", "\(run.outcome ?? "") \(run.errors)")
    let end = try await cancel.wait()
    #expect(end.status == 0, "\(end.errors)")
    depot.process.signal(SIGCONT)
  }

  /// A server that takes connections and says nothing holds no `cancel` up; its session is ended by who comes later.
  @Test(arguments: [false, true]) func cancelWithASilentServer(isRunning: Bool) async throws {
    let bench = try Bench()
    let depot = try await Depot(
      bench, faults: [#"{"match": {"method": "PUT"}, "action": {"uploadRate": "128KiB"}}"#])
    try bench.source("up.bin", size: 3 << 20)
    let policy = "timeouts: { connect: 60s, request: 60s }, retry: { attempts: 8, initial: 20s, max: 60s }"
    try bench.writeJob(
      """
      version: 1
      job: silent
      endpoints: { depot: \(depot.endpoint) }
      defaults: { chunk_size: 256KiB, policy: { \(policy) } }
      transfers: [{ id: up, upload: up.bin, to: "depot:in/up.bin" }]

      """)
    let events = bench.scratch.path + "/events.jsonl"
    let running = try bench.start(bench.runArguments(["--events", events]))
    try await Midway.chunks(1, of: ["up"], in: events, running)
    let words: String
    if isRunning {
      depot.process.signal(SIGSTOP)
      #expect(try await bench.haul(["cancel", "silent"], limit: .seconds(30)).status == 0)
      let run = try await HaulRun(running.wait(), reportPath: bench.reportPath)
      #expect(run.status == 0 && run.outcome == "canceled", "\(run.errors)")
      words = run.remarks + run.errors
    } else {
      running.signal(SIGINT)
      #expect(try await running.wait().status == 75)
      depot.process.signal(SIGSTOP)
      let cancel = try await bench.haul(["cancel", "silent"], limit: .seconds(30))
      #expect(cancel.status == 0, "\(cancel.errors)")
      words = cancel.errors
    }
    #expect(words.contains("up: the upload session") && words.contains("could not be ended"), "\(words)")
    #expect(words.contains("haul gc silent"), "\(words)")
    // Nor does it hold up those who come later, and they say the same.
    let inVain = try await bench.haul(["gc", "silent"], limit: .seconds(30))
    #expect(inVain.status == 75 && inVain.errors.contains("could not be ended"), "\(inVain.errors)")
    depot.process.signal(SIGCONT)
    let gc = try await bench.haul(["gc", "silent"])
    #expect(gc.output.contains("removed session of `silent`"), "\(gc.output) \(gc.errors)")
    #expect(try await depot.log().contains { $0.method == "DELETE" && $0.status == 204 })
    #expect(try await bench.haul(["gc", "silent"]).output.contains("nothing to remove"))
    let status = try await bench.haul(["status", "silent", "--json"])
    #expect(try JSON.parse(status.output)["transfers"].array.map { $0["state"].string } == ["canceled"])
  }

  /// Completions that another boot left unsynced are read again; only what is damaged is fetched again.
  @Test func whatAPowerCutTookIsFound() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    for (index, name) in ["a", "b", "c"].enumerated() {
      try bench.serve("\(name).bin", size: 300_000, seed: UInt64(index) + 1)
    }
    try bench.writeJob(
      """
      version: 1
      job: cut
      endpoints: { depot: \(depot.endpoint) }
      transfers:
        - { id: a, download: "depot:a.bin", to: a.bin }
        - { id: b, download: "depot:b.bin", to: b.bin }
        - { id: c, download: "depot:c.bin", to: c.bin }

      """)
    #expect(try await bench.run(nil).status == 0)
    let handle = try #require(FileHandle(forWritingAtPath: bench.job + "/b.bin"))
    try handle.seek(toOffset: 1000)
    try handle.write(contentsOf: Data([0, 1, 2, 3, 4, 5, 6, 7]))
    try handle.close()
    let shell = try Running(
      "/usr/bin/sqlite3",
      [
        bench.state + "/cut/plan.sqlite",
        "UPDATE progress SET synced = 0, boot_id = 'another';",
      ], environment: [:], folder: bench.scratch.path, scratch: bench.scratch.path)
    #expect(try await shell.wait().status == 0)
    let run = try await bench.run(nil)
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.transferred == 300_000)
    #expect(run.state("b") == "completed" && run.state("a") == "up_to_date")
    for name in ["a.bin", "b.bin", "c.bin"] { #expect(try bench.isSame(name, name)) }
  }

  /// A copy that a killed attempt left is removed; one that an open session needs stays.
  @Test func staleSnapshots() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.source("s.bin", size: 3000, seed: 1)
    try bench.writeJob(
      """
      version: 1
      job: stale
      endpoints: { depot: \(depot.endpoint) }
      transfers: [{ id: s, upload: s.bin, to: "depot:in/s.bin", snapshot: copy }]

      """)
    #expect(try await bench.run(nil).status == 0)
    for name in ["0a1b2c3d", "0a1b2c3d.tmp"] {
      try bench.scratch.write("state/stale/snapshots/\(name)", "left behind")
    }
    #expect(try await bench.run(nil).status == 0)
    #expect(Leftovers.find(bench, job: "stale") == [])
  }

  /// `reflink` shares the source's blocks, or says that it can't: it copies none.
  @Test func aSnapshotThatSharesBlocks() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.source("s.bin", size: 1 << 20)
    let shares = (try? Sums.shell("cp --reflink=always s.bin c.bin", in: bench.job)) != nil
    let run = try await bench.run(
      """
      version: 1
      job: shares
      endpoints: { depot: \(depot.endpoint) }
      transfers: [{ id: s, upload: s.bin, to: "depot:in/s.bin", snapshot: reflink }]
      """)
    #expect(run.state("s") == (shares ? "completed" : "failed IO_ERROR"), "\(run.errors)")
    #expect(shares || run.errors.contains("use `snapshot: copy`"), "\(run.errors)")
    let log = try await depot.log()
    #expect(shares || log.chunks.isEmpty)
  }

  /// The copy is sent, not what became of the source; a source that moved goes on under its new name.
  @Test func snapshotAndMovedSource() async throws {
    let bench = try Bench()
    let depot = try await Depot(
      bench, faults: [#"{"match": {"method": "PUT"}, "action": {"uploadRate": "128KiB"}}"#])
    try bench.source("s.bin", size: 3 << 20, seed: 1)
    try bench.source("m.bin", size: 3 << 20, seed: 2)
    let original = try Sums.file(bench.job + "/s.bin")
    func job(_ moved: String) -> String {
      """
      version: 1
      job: snap
      endpoints: { depot: \(depot.endpoint) }
      defaults: { chunk_size: 256KiB }
      transfers:
        - { id: s, upload: s.bin, to: "depot:in/s.bin", snapshot: copy }
        - { id: m, upload: \(moved), to: "depot:in/m.bin" }

      """
    }
    try bench.writeJob(job("m.bin"))
    let events = bench.scratch.path + "/events.jsonl"
    let running = try bench.start(bench.runArguments(["--events", events]))
    try await untilUnderWay(events)
    running.signal(SIGINT)
    let stopped = try await running.wait()
    #expect(stopped.status == 75, "\(stopped.errors)")
    try bench.source("s.bin", size: 3 << 20, seed: 9)
    try FileManager.default.moveItem(atPath: bench.job + "/m.bin", toPath: bench.job + "/n.bin")
    try bench.writeJob(job("n.bin"))
    let run = try await bench.run(nil)
    #expect(run.status == 0, "\(run.errors)")
    #expect(try Sums.file(bench.served + "/in/s.bin") == original)
    #expect(try Sums.file(bench.served + "/in/m.bin") == Sums.file(bench.job + "/n.bin"))
    let sent = try await depot.log().chunks.reduce(into: [:]) { $0[$1.path, default: 0] += 1 }
    // Eight chunks may have been under way when the signal came.
    #expect(sent.values.filter { $0 > 1 }.count <= 8 && sent.count == 24)
  }
}
