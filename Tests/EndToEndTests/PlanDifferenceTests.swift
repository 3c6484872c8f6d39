import Foundation
import TestSupport
import Testing

/// cli.md, `haul plan`: a dry run, and a difference to what is on record.
@Suite(.turns)
struct PlanDifferenceTests {
  private func plan(_ bench: Bench) async throws -> JSON {
    let end = try await bench.haul(["plan", "job.yaml", "--json"])
    #expect(end.status == 0, "\(end.errors)")
    let file = try bench.scratch.write("plan.json", end.output)
    #expect(try await Schema.faults(of: file, name: "plan") == "")
    return try JSON.parse(end.output)
  }

  private func shown(_ bench: Bench) async throws -> [String] {
    var texts: [String] = []
    for arguments in [
      ["status", "diff", "--json"], ["report", "diff", "--format", "json"], ["history", "diff"],
    ] {
      // Only the moment of the look differs.
      texts.append(try await bench.haul(arguments).output.replacing(#/"at": ?"[^"]+"/#, with: ""))
    }
    return texts
  }

  /// It is no new one.
  @Test func whatIsAskedForAnew() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.serve("a.bin", size: 1000)
    try bench.writeJob(
      """
      version: 1
      job: diff
      endpoints: { depot: \(depot.endpoint) }
      transfers: [{ id: a, download: "depot:a.bin", to: a.bin }]

      """)
    #expect(try await bench.run().status == 0)
    #expect(try await bench.haul(["retry", "diff", "a", "--from-scratch"]).status == 0)
    let words = try await bench.haul(["plan", "job.yaml"])
    #expect(words.output.contains(" a (again: `retry --from-scratch`)"), "\(words.output)")
    #expect(try await plan(bench)["transfers"][0]["change"].string == "again")
  }

  @Test func aPlanIsADifferenceAndChangesNothing() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    for name in ["same", "edited", "pinned", "gone"] {
      try bench.serve(name + ".bin", size: 1000, seed: UInt64(name.utf8.count))
    }
    func job(_ transfers: [String]) -> String {
      """
      version: 1
      job: diff
      endpoints: { depot: \(depot.endpoint) }
      transfers:

      """
        + transfers.map { "  - { id: \($0), download: \"depot:\($0).bin\", to: \($0).bin }" }.joined(
          separator: "\n")
    }
    // A job that has not run has no state after it either.
    try bench.writeJob(job(["same", "edited", "gone", "bad"]))
    let first = try await plan(bench)
    #expect(first["totals"]["changes"]["new"].int == 4 && first["gone"]["count"].int == 0)
    #expect(try await bench.haul(["status", "diff"]).status == 66)
    #expect(try await bench.run().status == 1)
    let before = try await shown(bench)
    try bench.source("edited.bin", size: 10)
    try bench.writeJob(job(["same", "edited", "bad", "fresh"]))
    for _ in 0..<2 {
      let json = try await plan(bench)
      let changes = json["transfers"].array.map { "\($0["id"].string ?? "") \($0["change"].string ?? "")" }
      #expect(changes == ["same up_to_date", "edited changed", "bad again", "fresh new"])
      #expect(json["gone"]["ids"].array.compactMap(\.string) == ["gone"])
    }
    let words = try await bench.haul(["plan", "job.yaml"])
    #expect(
      words.output.contains("edited (changed: the destination is not as it was left)"), "\(words.output)")
    #expect(words.output.contains("bad (again: NOT_FOUND)") && words.output.contains("fresh (new)"))
    #expect(words.output.contains("gone from the manifest: 1 (gone)"))
    #expect(!words.output.contains("same.bin") && words.output.contains("1 up to date"))
    #expect(try await bench.haul(["plan", "job.yaml", "--all"]).output.contains("same.bin"))
    // What is done and disabled now is left alone.
    try bench.writeJob(
      job(["same", "edited", "bad", "fresh"]).replacing("same.bin }", with: "same.bin, enabled: false }"))
    let off = try await plan(bench)["transfers"][0]
    #expect(
      off["action"].string == "skip" && off["reason"].string == "disabled" && off["change"].string == "held")
    // So is what needs it: a run skips it, asking nobody.
    try bench.writeJob(
      job(["same", "edited", "bad", "fresh"]).replacing("same.bin }", with: "same.bin, enabled: false }")
        .replacing("fresh.bin }", with: "fresh.bin, needs: [same] }"))
    let needy = try await plan(bench)["transfers"][3]
    #expect(needy["action"].string == "skip" && needy["reason"].string == "needs:same", "\(needy)")
    try bench.writeJob(job(["same", "edited", "bad", "fresh"]))
    // Nothing that is shown has changed, and the run finds the difference itself.
    #expect(try await shown(bench) == before)
    try bench.serve("fresh.bin", size: 10)
    let run = try await bench.run()
    #expect(run.status == 1 && run.faults == "", "\(run.errors)")
    #expect(run.report["left_manifest"]["count"].int == 1)
    #expect(run.report["left_manifest"]["ids"].array.compactMap(\.string) == ["gone"])
    #expect(run.errors.contains("left the manifest: 1 (gone)"), "\(run.errors)")
    #expect(run.errors.contains("1 new (fresh)") && run.errors.contains("1 destination changed (edited)"))
    #expect(!FileManager.default.fileExists(atPath: bench.state + "/.plans"))
  }

  /// What is done is counted without its line: with the same outcome, whatever became of the file.
  @Test func theTotalsAreThoseOfAllLines() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    let (kinds, count) = (["changed", "never", "always"], 300)
    for index in 0..<count { try bench.serve("\(index)", size: index) }
    try bench.writeJob(
      "n\n" + (0..<count).map { "\($0)\n" }.joined(), as: "rows.csv")
    try bench.writeJob(
      """
      version: 1
      job: diff
      endpoints: { depot: \(depot.endpoint) }
      transfers:

      """
        + kinds.map {
          """
            - id: \($0)
              for_each: { csv: rows.csv, key: "${each.n}" }
              download: "depot:${each.n}"
              to: "\($0)/${each.n}"
              refresh: \($0)
              chunk_size: 64

          """
        }.joined())
    #expect(try await bench.run().status == 0)
    func totals(_ options: [String]) async throws -> ArraySlice<Substring> {
      let end = try await bench.haul(["plan", "job.yaml"] + options)
      #expect(end.status == 0, "\(end.errors)")
      return end.output.split(separator: "\n").suffix(2)
    }
    func expect(upToDate: Int64) async throws {
      let (few, all) = (try await totals([]), try await totals(["--all"]))
      #expect(
        few == all && few.first == "900 transfers: \(900 - upToDate) to run, \(upToDate) up to date", "\(few)"
      )
      #expect(try await plan(bench)["totals"]["actions"]["up_to_date"].int == upToDate)
    }
    try await expect(upToDate: 600)
    let files = FileManager.default
    for kind in kinds {
      func path(_ name: Int) -> String { bench.job + "/\(kind)/\(name)" }
      for name in [3, 110, 120, 130, 140] { try files.removeItem(atPath: path(name)) }
      try Data(count: 7).write(to: URL(fileURLWithPath: path(110)))
      try files.createSymbolicLink(atPath: path(120), withDestinationPath: "121")
      try files.createDirectory(atPath: path(130), withIntermediateDirectories: true)
      try files.setAttributes([.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: path(150))
    }
    // `never` asks for a file, whatever is in it.
    try await expect(upToDate: 600 - 6 - 3)
  }

  @Test func itWorksWhileTheJobRuns() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench, faults: Depot.slow(50_000))
    try bench.serve("a.bin", size: 2_000_000)
    try bench.writeJob(
      """
      version: 1
      job: diff
      endpoints: { depot: \(depot.endpoint) }
      transfers: [ { id: a, download: "depot:a.bin", to: a.bin } ]
      """)
    let events = bench.scratch.path + "/events.jsonl"
    let running = try bench.start(bench.runArguments(["--events", events]))
    while !JSON.lines(events).contains(where: { $0["to"].string == "running" }) {
      try await Task.sleep(for: .milliseconds(20))
    }
    _ = try await plan(bench)
    running.signal(SIGTERM)
    #expect(try await running.wait().status == 75)
  }

  /// After SIGKILL nothing says `running`, and what moved is told.
  @Test func aKilledRunIsNeverRunning() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench, faults: Depot.slow(200_000))
    try bench.serve("a.bin", size: 16_000_000)
    try bench.writeJob(
      """
      version: 1
      job: diff
      endpoints: { depot: \(depot.endpoint) }
      defaults: { chunk_size: 64KiB }
      transfers: [ { id: a, download: "depot:a.bin", to: a.bin } ]
      """)
    let output = bench.scratch.path + "/events.out"
    let script =
      "\(quoted(Programs.haul)) run job.yaml --no-progress --events - --state-dir \(quoted(bench.state)) >> \(quoted(output))"
    func start() throws -> Running {
      try Running(
        "/bin/sh", ["-c", "exec " + script], environment: bench.environment(), folder: bench.job,
        scratch: bench.scratch.path)
    }
    let killed = try start()
    while JSON.lines(output).count(where: { $0["event"].string == "chunk_completed" }) < 24 {
      try await Task.sleep(for: .milliseconds(50))
    }
    killed.signal(SIGKILL)
    _ = try await killed.wait()
    let report = try JSON.parse(try await bench.haul(["report", "diff", "--format", "json"]).output)
    #expect(
      report["transfers"][0]["state"].string == "paused"
        && report["transfers"][0]["reason"].string == "interrupted")
    #expect(report["run"]["outcome"].string == "incomplete" && report["job"]["state"].string == "paused")
    #expect((report["run"]["attempts"][0]["bytes_transferred"].int ?? 0) > 0)
    let history = try await bench.haul(["history", "diff"]).output
    #expect(!history.contains("running") && history.contains("incomplete"), "\(history)")
    let seen = JSON.lines(output).compactMap { $0["seq"].int }
    let second = try start()
    while JSON.lines(output).count <= seen.count { try await Task.sleep(for: .milliseconds(50)) }
    second.signal(SIGTERM)
    #expect(try await second.wait().status == 75)
    let all = JSON.lines(output).compactMap { $0["seq"].int }
    #expect(all == Array(1...Int64(all.count)), "\(all)")
    let runs = Set(JSON.lines(output).compactMap { $0["run"].string })
    #expect(runs.count == 1)
  }
}
