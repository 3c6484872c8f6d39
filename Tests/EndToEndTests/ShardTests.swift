import Foundation
import TestSupport
import Testing

/// cli.md, *Shards*: parts of a job run apart, and one report of all.
@Suite(.turns)
struct ShardTests {
  /// Rows, a glob, needs, failures, and what is left out.
  private static func job(_ depot: Depot) -> String {
    """
    version: 1
    job: parts
    endpoints: { depot: \(depot.endpoint) }
    policies:
      slow: { transfers: 10, connections: { per_host: 9 }, bandwidth: 900MB/s, network: { proxy: none } }
    defaults: { policy: slow }
    limits: { connections: { total: 40 } }
    transfers:
      - id: rows
        for_each: { csv: rows.csv, key: "${each.name}" }
        download: "depot:${each.name}.bin"
        to: "got/${each.name}.bin"
      - { id: up, upload: "send/*.dat", to: "depot:in/", policy: { network: { proxy: none } } }
      - { id: deck, download: "depot:deck.bin", to: deck.bin }
      - { id: after, download: "depot:after.bin", to: after.bin, needs: [deck] }
      - { id: lost, download: "depot:lost.bin", to: lost.bin }
      - { id: behind, download: "depot:behind.bin", to: behind.bin, needs: [lost] }
      - { id: off, download: "depot:off.bin", to: off.bin, enabled: false }
    """
  }

  private static let rows = 60

  private func prepare(_ bench: Bench, serving: Bench) throws {
    var csv = "name\n"
    for row in 0..<Self.rows {
      csv += "f\(row)\n"
      // Two of the rows are not there.
      if row % 30 != 7 { try serving.serve("f\(row).bin", size: 1000 + row, seed: UInt64(row)) }
    }
    try bench.writeJob(csv, as: "rows.csv")
    for name in ["deck", "after", "behind"] { try serving.serve(name + ".bin", size: 5000) }
    try FileManager.default.createDirectory(atPath: bench.job + "/send", withIntermediateDirectories: true)
    for file in 0..<9 { try bench.source("send/s\(file).dat", size: 300 + file, seed: UInt64(100 + file)) }
  }

  private func report(_ bench: Bench, _ index: Int) -> String { bench.scratch.path + "/shard-\(index).json" }

  /// Runs each part of a job.
  private func runAll(_ bench: Bench, of count: Int, _ options: [String] = []) async throws -> [HaulRun] {
    var runs: [HaulRun] = []
    for index in 1...count {
      let path = report(bench, index)
      let end = try await bench.haul(
        ["run", "job.yaml", "--report", path, "--no-progress", "--shard", "\(index)/\(count)"] + options)
      runs.append(try await HaulRun(end, reportPath: path))
    }
    return runs
  }

  private func merge(_ bench: Bench, _ count: Int, _ options: [String] = []) async throws -> Finished {
    try await bench.haul(["report", "merge"] + (1...count).reversed().map { report(bench, $0) } + options)
  }

  @Test func theMergedReportIsThatOfOneMachine() async throws {
    let (one, many) = (try Bench(), try Bench())
    let depot = try await Depot(one)
    try prepare(one, serving: one)
    try prepare(many, serving: one)
    let whole = try await one.run(Self.job(depot))
    #expect(whole.status == 1 && whole.faults == "", "\(whole.faults)\(whole.errors)")
    let again = try await one.run()
    // The parts find what the one machine found: nothing of theirs.
    try FileManager.default.removeItem(atPath: one.served + "/in")
    try many.writeJob(Self.job(depot))
    let parts = try await runAll(many, of: 5)
    for (index, part) in parts.enumerated() {
      #expect(part.faults == "" && [0, 1].contains(part.status), "\(part.faults)\(part.errors)")
      #expect(part.report["run"]["shard"]["index"].int == Int64(index + 1))
      #expect(part.report["run"]["shard"]["count"].int == 5)
      #expect(part.report["job"]["name"].string == "parts")
      #expect(
        FileManager.default.fileExists(atPath: many.state + "/parts/shards/\(index + 1)-of-5/plan.sqlite"))
    }
    #expect(!FileManager.default.fileExists(atPath: many.state + "/parts/plan.sqlite"))
    // Limits are divided: 9 connections are 2, 2, 2, 2 and 1; 40 are 8 each.
    for (part, most) in zip(parts, [2, 2, 2, 2, 1]) {
      guard case .object(let policies) = part.report["policies"] else { continue }
      for policy in policies.values where policy["undivided"]["transfers"].int == 10 {
        #expect(policy["connections"]["per_host"].int == Int64(most) && policy["transfers"].int == 2)
        #expect(policy["bandwidth"]["download"].int == 180_000_000)
      }
      #expect(part.report["job"]["limits"]["connections"]["total"].int == 8)
    }
    let end = try await merge(many, 5)
    #expect(end.status == 0, "\(end.errors)")
    let path = try many.scratch.write("merged.json", end.output)
    #expect(try await Schema.faults(of: path, name: "report") == "")
    let merged = try JSON.parse(end.output)
    let (expected, found) = (ComparedReport(whole.report), ComparedReport(merged))
    #expect(found.totals == expected.totals)
    #expect(found.transfers == expected.transfers)
    #expect(found.rest == expected.rest, "\(found.rest)\n\(expected.rest)")
    #expect(merged["run"]["attempts"].array.count == 5)
    // What a second run finds is alike, too.
    _ = try await runAll(many, of: 5)
    let second = try JSON.parse(try await merge(many, 5).output)
    #expect(ComparedReport(second) == ComparedReport(again.report))
    for form in ["text", "csv", "html", "junit", "prometheus", "sha256sums", "jsonl", "ids"] {
      #expect(try await merge(many, 5, ["--format", form]).status == 0, "\(form)")
    }
  }

  @Test func reportsThatDoNotBelongTogetherAreRefused() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try prepare(bench, serving: bench)
    try bench.writeJob(Self.job(depot))
    _ = try await runAll(bench, of: 3)
    let one = report(bench, 1)
    let missing = try await bench.haul(["report", "merge", one])
    #expect(
      missing.status == 65 && missing.errors.contains("2/3, 3/3") && missing.output == "", "\(missing.errors)"
    )
    let partial = try await bench.haul(["report", "merge", "--partial", one])
    let found = try JSON.parse(partial.output)
    #expect(partial.status == 0 && found["run"]["shards"]["missing"].array.map(\.int) == [2, 3])
    #expect(found["run"]["outcome"].string != "completed")
    #expect(try await bench.haul(["report", "merge", one, one]).status == 65)
    #expect(try await bench.haul(["report", "merge", "absent.json"]).status == 66)
    #expect(try await bench.haul(["report", "merge", "job.yaml"]).status == 66)
    #expect(try await bench.haul(["report", "merge"]).status == 64)
    let whole = try await bench.run()
    #expect(whole.report["run"]["shard"].isNull)
    #expect(try await bench.haul(["report", "merge", bench.reportPath]).status == 65)
    // Nothing is left of a file that could not be written whole.
    let absent = try await merge(bench, 3, ["--output", "no/such/folder.json"])
    #expect(absent.status == 73)
    let written = try await merge(bench, 3, ["--output", "all.csv"])
    #expect(written.status == 0 && written.output == "" && bench.exists("all.csv"))
    #expect(!written.errors.contains("only what changed"))
    // What one of very many transfers leaves out is missing in what has every transfer.
    let text = try String(contentsOfFile: one, encoding: .utf8)
    let short = text.replacing(/"transfers_scope": *"all"/, with: "\"transfers_scope\": \"changed\"")
    try Data(short.utf8).write(to: URL(fileURLWithPath: one))
    for (options, isTold) in [
      (["--format", "sha256sums"], true), (["--format", "csv"], true), (["--all"], true), ([], false),
      (["--ids", "--failed"], false),
    ] {
      let end = try await merge(bench, 3, options)
      #expect(
        end.status == 0 && end.errors.contains("only what changed") == isTold, "\(options) \(end.errors)")
    }
  }

  @Test func commandsMeanAPart() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try prepare(bench, serving: bench)
    try bench.writeJob(Self.job(depot))
    let planned = try await bench.haul(["plan", "job.yaml", "--json", "--shard", "2/3"])
    #expect(planned.status == 0, "\(planned.errors)")
    let runs = try await runAll(bench, of: 3)
    let plan = try JSON.parse(planned.output)
    #expect(
      Set(plan["transfers"].array.map { $0["id"].string }) == Set(runs[1].transfers.map { $0["id"].string }))
    for command in [["status"], ["report"], ["history"], ["verify"]] {
      let end = try await bench.haul(command + ["parts", "--shard", "2/3"])
      #expect([0, 1].contains(end.status), "\(command) \(end.errors)")
    }
    let status = try JSON.parse(try await bench.haul(["status", "parts", "--shard", "2/3", "--json"]).output)
    #expect(status["run"]["shard"]["index"].int == 2)
    #expect(status["totals"]["transfers"].int == Int64(runs[1].transfers.count))
    // Without a part: which there are.
    let all = try await bench.haul(["status", "parts"])
    #expect(all.status == 0)
    for index in 1...3 { #expect(all.output.contains("parts, shard \(index)/3: "), "\(all.output)") }
    let list = try JSON.parse(try await bench.haul(["status", "parts", "--json"]).output)
    #expect(list.array.compactMap { $0["run"]["shard"]["index"].int } == [1, 2, 3])
    #expect(try JSON.parse(try await bench.haul(["status", "--json"]).output).array.count == 3)
    for command in [
      ["report", "parts"], ["retry", "parts"], ["history", "job.yaml"], ["limit", "parts", "1MB/s"],
    ] {
      let end = try await bench.haul(command)
      #expect(
        end.status == 66 && end.errors.contains("1/3 to 3/3") && end.errors.contains("--shard"),
        "\(end.errors)")
    }
    let watched = try await bench.haul(["status", "parts", "--watch"])
    #expect(watched.status == 64 && watched.errors.contains("--shard 1/3"), "\(watched.errors)")
    // What a hint says to run means the part, too.
    for (command, hint) in [
      (["report", "--run", "99"], "haul history parts --shard 2/3"),
      (["verify", "--run", "99"], "haul history parts --shard 2/3"),
      (["verify", "--id", "none"], "haul report parts --shard 2/3"),
      (["retry", "none"], "haul status parts --shard 2/3 --json"),
    ] {
      let end = try await bench.haul([command[0], "parts"] + command.dropFirst() + ["--shard", "2/3"])
      #expect(end.status == 66 && end.errors.contains("`\(hint)`"), "\(end.errors)")
    }
    let other = try await bench.haul(["status", "parts", "--shard", "1/4"])
    #expect(other.status == 66 && other.errors.contains("1/3 to 3/3"), "\(other.errors)")
    for wrong in ["0/3", "4/3", "x", "auto"] {
      #expect(try await bench.haul(["run", "job.yaml", "--shard", wrong]).status == 64)
    }
    // Controls speak of the part alone.
    let failed = try #require(
      runs.firstIndex { !$0.transfers.filter { $0["state"].string == "failed" }.isEmpty })
    let retried = try await bench.haul(["retry", "parts", "--shard", "\(failed + 1)/3", "--json"])
    let changed = try JSON.parse(retried.output)["changed"].int ?? 0
    #expect(retried.status == 0 && changed > 0)
    let gc = try await bench.haul(["gc", "parts", "--keep", "0"])
    #expect(gc.status == 0, "\(gc.errors)")
  }

  /// A selection that another part has is no mistake here.
  @Test func aSelectionMayBeAnotherPartsAlone() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try prepare(bench, serving: bench)
    try bench.writeJob(Self.job(depot))
    let runs = try await runAll(bench, of: 4, ["--only", "rows/f3"])
    #expect(runs.allSatisfy { $0.status == 0 && $0.faults == "" }, "\(runs.map(\.errors))")
    #expect(runs.count { $0.report["selection"]["totals"]["completed"].int == 1 } == 1)
    let merged = try JSON.parse(try await merge(bench, 4).output)
    #expect(merged["selection"]["totals"]["completed"].int == 1 && merged["run"]["exit_code"].int == 0)
  }

  /// What `needs` names, and so the part, may be a value of `--set`.
  @Test func partsOfOtherValuesAreNotMerged() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    for name in ["a", "b", "c"] { try bench.serve(name + ".bin", size: 300) }
    try bench.writeJob(
      """
      version: 1
      job: values
      vars: { first: a }
      endpoints: { depot: \(depot.endpoint) }
      defaults: { policy: { network: { proxy: none } } }
      transfers:
        - { id: a, download: "depot:a.bin", to: a.bin }
        - { id: b, download: "depot:b.bin", to: b.bin }
        - { id: c, download: "depot:c.bin", to: c.bin, needs: ["${var.first}"] }
      """)
    let runs = try await runAll(bench, of: 2)
    #expect(runs.allSatisfy { $0.status == 0 }, "\(runs.map(\.errors))")
    #expect(try await merge(bench, 2).status == 0)
    let path = report(bench, 2)
    let run = ["run", "job.yaml", "--report", path, "--no-progress", "--shard", "2/2"]
    #expect(try await bench.haul(run + ["--set", "first=b"]).status == 0)
    let end = try await merge(bench, 2)
    #expect(end.status == 65 && end.errors.contains("--set") && end.output == "", "\(end.errors)")
  }

  /// Rows that came between the parts are nobody's where an earlier part had them.
  @Test func partsOfOtherRowsAreNotMerged() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try prepare(bench, serving: bench)
    try bench.writeJob(Self.job(depot))
    let rows = (0..<Self.rows).map { "f\($0)" }
    func run(_ part: Int, rows count: Int) async throws {
      try bench.writeJob((["name"] + rows.prefix(count)).joined(separator: "\n") + "\n", as: "rows.csv")
      let end = try await bench.haul(
        ["run", "job.yaml", "--report", report(bench, part), "--no-progress", "--shard", "\(part)/2"])
      #expect([0, 1].contains(end.status), "\(end.errors)")
    }
    try await run(1, rows: 6)
    try await run(2, rows: 40)
    let end = try await merge(bench, 2)
    #expect(end.status == 65 && end.output == "", "\(end.errors)")
    #expect(end.errors.contains("the parts worked on different plans"), "\(end.errors)")
    // The part that ran before has them now.
    try await run(1, rows: 40)
    let merged = try JSON.parse(try await merge(bench, 2).output)
    #expect(merged["totals"]["transfers"].int == 54)
    // Rows that left are of no part any more.
    try await run(2, rows: 6)
    #expect(try await merge(bench, 2).status == 65)
    try await run(1, rows: 6)
    #expect(try await merge(bench, 2).status == 0)
  }

  /// Two downloads, of two parts, of files that the server calls alike: the planner does not know the names that servers give.
  private func oneName(_ bench: Bench) async throws -> Depot {
    let depot = try await Depot(bench)
    for (seed, folder) in ["x", "y"].enumerated() {
      try FileManager.default.createDirectory(
        atPath: bench.served + "/" + folder, withIntermediateDirectories: true)
      try bench.serve(folder + "/report.bin", size: 900, seed: UInt64(seed + 1))
    }
    // `right` is of 1/2, `left` of 2/2.
    try bench.writeJob(
      """
      version: 1
      job: names
      endpoints: { depot: \(depot.endpoint) }
      defaults: { policy: { network: { proxy: none } } }
      transfers:
        - { id: right, download: "depot:x/report.bin", to: got/ }
        - { id: left, download: "depot:y/report.bin", to: got/ }
      """)
    return depot
  }

  @Test func oneNameOfTwoPartsIsNotWrittenTwice() async throws {
    let bench = try Bench()
    _ = try await oneName(bench)
    let runs = try await runAll(bench, of: 2)
    #expect(runs.map(\.status) == [0, 1], "\(runs.map(\.errors))")
    #expect(runs[1].transfers.first?["error"]["code"].string == "DESTINATION_EXISTS")
    #expect(try bench.isSame("got/report.bin", "x/report.bin"))
    let again = try await runAll(bench, of: 2)
    #expect(again[0].transfers.first?["state"].string == "up_to_date")
  }

  /// Between its rename and its record a part's intent alone tells the other whose file it is.
  @Test func oneNameOfTwoPartsIsKeptBeforeItIsOnRecord() async throws {
    let bench = try Bench()
    let depot = try await oneName(bench)
    #expect(try await bench.haul(["run", "job.yaml", "--no-progress", "--shard", "1/2"]).status == 0)
    // As a kill at that moment leaves it.
    let sql =
      "UPDATE progress SET completed_at = NULL, destination_facts = NULL; UPDATE transfer SET state = 'running'"
    _ = try Sums.shell(
      "sqlite3 plan.sqlite \(quoted(sql)) >/dev/null", in: bench.state + "/names/shards/1-of-2")
    let path = report(bench, 2)
    let second = try await HaulRun(
      bench.haul(["run", "job.yaml", "--no-progress", "--shard", "2/2", "--report", path]), reportPath: path)
    #expect(second.transfers.first?["error"]["code"].string == "DESTINATION_EXISTS", "\(second.errors)")
    #expect(try bench.isSame("got/report.bin", "x/report.bin"))
    let first = try await bench.haul(["run", "job.yaml", "--no-progress", "--shard", "1/2"])
    #expect(first.status == 0, "\(first.errors)")
    let asked = try await depot.log().filter { $0.isDownload && $0.path.hasSuffix("x/report.bin") }
    #expect(asked.count == 1, "no byte moves twice")
  }

  @Test func partsDoNotWaitForEachOther() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench, faults: Depot.slow(64 << 10))
    try bench.serve("big.bin", size: 1 << 20)
    try bench.writeJob(
      """
      version: 1
      job: apart
      endpoints: { depot: \(depot.endpoint) }
      defaults: { policy: { network: { proxy: none } } }
      transfers:
        - { id: a, download: "depot:big.bin", to: a.bin }
        - { id: b, download: "depot:big.bin", to: b.bin }
        - { id: c, download: "depot:big.bin", to: c.bin }
        - { id: d, download: "depot:big.bin", to: d.bin }
      """)
    let running = try (1...2).map {
      try bench.start(["run", "job.yaml", "--no-progress", "--shard", "\($0)/2"])
    }
    try await Task.sleep(for: .seconds(1))
    let second = try await bench.haul(["run", "job.yaml", "--shard", "1/2"])
    #expect(second.status == 76 && second.errors.contains("shard 1/2 of the job `apart`"), "\(second.errors)")
    for one in running { #expect(try await one.wait().status == 0) }
    for name in ["a", "b", "c", "d"] { #expect(try bench.isSame(name + ".bin", "big.bin")) }
  }

  /// A part that has no state yet looks who else the job is known from: another part's may be removed just then.
  @Test func theStateOfAnotherPartComesAndGoes() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try prepare(bench, serving: bench)
    try bench.writeJob(Self.job(depot))
    _ = try await bench.haul(["run", "job.yaml", "--no-progress", "--shard", "1/8"])
    let (there, away) = (bench.state + "/parts/shards/1-of-8", bench.state + "/away")
    let moving = Task.detached {
      while !Task.isCancelled {
        rename(there, away)
        try? await Task.sleep(for: .microseconds(300))
        rename(away, there)
        try? await Task.sleep(for: .microseconds(300))
      }
    }
    for _ in 0..<60 {
      let end = try await bench.haul(["plan", "job.yaml", "--shard", "2/8"])
      #expect(end.status == 0, "\(end.errors)")
    }
    moving.cancel()
    await moving.value
  }
}
