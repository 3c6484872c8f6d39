import Foundation
import TestSupport
import Testing

/// `packaging/slurm` on a real Slurm, where HAUL_SLURM is set: it takes minutes.
@Suite(
  .turns,
  .enabled(
    if: SlurmCluster.isUsable && ProcessInfo.processInfo.environment["HAUL_SLURM"] != nil,
    "HAUL_SLURM is not set, slurm-wlm and munge are not installed, or this is not root"))
struct SlurmTests {
  private static let parts = 16

  private static func job(_ url: String) -> String {
    """
    version: 1
    job: array
    endpoints: { depot: { type: session, url: \(quoted(url)) } }
    defaults: { policy: { transfers: 16, connections: { per_host: 16 }, network: { proxy: none } }, chunk_size: \(chunk) }
    transfers:
      - id: rows
        for_each: { csv: rows.csv, key: "${each.name}" }
        download: "depot:${each.name}.bin"
        to: "got/${each.name}.bin"
      - { id: long, download: depot:long.bin, to: long.bin }
      - { id: before, download: depot:f1.bin, to: before.bin }
      - { id: after, download: depot:f2.bin, to: after.bin, needs: [before] }
    """
  }

  /// That of the id `long`.
  private static let longPart = 4
  private static let rows = 64
  private static let chunk = 64 << 10
  /// Bytes a second of a connection, of which a part has one: the long file takes longer than the time limit.
  private static let rate = 64 << 10

  private func prepare(_ bench: Bench, serving: Bench) throws {
    var csv = "name\n"
    for row in 0..<Self.rows {
      csv += "f\(row)\n"
      try serving.serve("f\(row).bin", size: 150_000 + row, seed: UInt64(row))
    }
    try serving.serve("long.bin", size: 90 * Self.rate, seed: 999)
    try bench.writeJob(csv, as: "rows.csv")
  }

  /// Processes of haul that run a part of the bench's job, and which.
  private func runners(_ bench: Bench) -> [(pid: pid_t, part: Int)] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    // `submit` gives haul the real path of the reports, which the scratch folder's own need not be.
    let folder = URL(fileURLWithPath: bench.scratch.path).lastPathComponent
    return names.compactMap { pid_t($0) }.compactMap { pid in
      let words = FileManager.default.contents(atPath: "/proc/\(pid)/cmdline") ?? Data()
      let text = String(decoding: words, as: UTF8.self)
      guard text.hasPrefix(Programs.haul + "\0run\0"), text.contains("/\(folder)/"),
        let part = text.firstMatch(of: /shard-(\d+)\.json/).flatMap({ Int($0.1) })
      else { return nil }
      return (pid, part)
    }
  }

  @Test func anArrayWithAllThatMayHappen() async throws {
    let (one, many) = (try Bench(), try Bench())
    try prepare(one, serving: many)
    try prepare(many, serving: many)
    let quick = try await Depot(many)
    let whole = try await one.run(Self.job(quick.url))
    #expect(whole.status == 0, "\(whole.errors)")
    await quick.process.end()
    let asked = try await quick.log().count
    // At the same URL: the reports have it.
    let depot = try await Depot(many, faults: Depot.slow(Self.rate), port: quick.port)
    try many.writeJob(Self.job(depot.url))
    let cluster = try await SlurmCluster(many, cores: 4)
    let restarts: Int
    do {
      restarts = try await run(cluster, many)
    } catch {
      await cluster.end()
      throw error
    }
    await cluster.end()
    let text = String(
      decoding: FileManager.default.contents(atPath: many.job + "/reports/report.json") ?? Data(),
      as: UTF8.self)
    let merged = try JSON.parse(text)
    #expect(try await Schema.faults(of: many.job + "/reports/report.json", name: "report") == "")
    let (expected, found) = (
      ComparedReport(whole.report, wasRepeated: true), ComparedReport(merged, wasRepeated: true)
    )
    #expect(found.transfers == expected.transfers)
    #expect(found.totals == expected.totals && merged["run"]["exit_code"].int == 0)
    #expect(merged["diagnostics"].array.isEmpty && merged["causes"].array.isEmpty)
    #expect(merged["run"]["shards"]["merged"].int == Int64(Self.parts))
    for row in 0..<Self.rows {
      #expect(try many.isSame("got/f\(row).bin", "f\(row).bin"))
    }
    #expect(try many.isSame("long.bin", "long.bin"))
    // Again came what was in flight, and what only the state that was removed knew of.
    let size = whole.totals["bytes"]["planned"].int ?? 0
    let moved = try await Array(depot.log().dropFirst(asked)).moved
    #expect(moved <= size + Int64(restarts * 8 * Self.chunk) + Int64(12 * 150_000), "\(moved) of \(size)")
  }

  /// - Returns: how often tasks were started again.
  private func run(_ cluster: SlurmCluster, _ bench: Bench) async throws -> Int {
    let submitted = try await cluster.command(
      [Programs.root + "/packaging/slurm/submit", "\(Self.parts)", "4", "job.yaml", "reports"],
      environment: [
        "HAUL": Programs.haul, "HAUL_STATE_DIR": bench.state,
        // The long part runs into its time limit, and ends with 75 before.
        "SBATCH_OPTIONS": "--time=1 --signal=TERM@20",
      ])
    let ids = submitted.output.split(whereSeparator: \.isWhitespace).map(String.init)
    try #require(submitted.status == 0 && ids.count == 2, "\(submitted.errors)")
    let array = ids[0]
    var random = SeededRandom(5)
    var (kills, steps) = (0, 0)
    var (isDrained, isRemoved) = (false, false)
    var left = try await cluster.tasks(of: array)
    let deadline = ContinuousClock.now + .seconds(1200)
    while !left.isEmpty, ContinuousClock.now < deadline {
      try await Task.sleep(for: .milliseconds(700))
      if let (pid, part) = runners(bench).randomElement(using: &random) {
        if kills < 5 || !isRemoved {
          kill(pid, SIGKILL)
          kills += 1
          if kills >= 4, !isRemoved { isRemoved = try await remove(part, bench) }
        } else if steps < 2 {
          // One that has just ended is not there any more.
          let step = ["scancel", "--signal=KILL", "\(array)_\(part).0"]
          if try await cluster.command(step).status == 0 { steps += 1 }
        }
      }
      left = try await cluster.tasks(of: array)
      let waiting = left.filter { $0.state == "PD" }.count
      if kills >= 3, !isDrained, waiting < Self.parts - 4 {
        isDrained = true
        try await drain(cluster, array)
      }
    }
    #expect(
      left.isEmpty && kills >= 5 && steps == 2 && isDrained && isRemoved,
      "\(left) \(kills) \(steps) \(isDrained) \(isRemoved)")
    var restarts = 0
    for part in 1...Self.parts {
      let facts = try await cluster.facts(of: "\(array)_\(part)")
      let log = FileManager.default.contents(atPath: bench.job + "/reports/\(array)_\(part).log") ?? Data()
      #expect(
        facts["JobState"] == "COMPLETED" && facts["ExitCode"] == "0:0",
        "part \(part): \(facts) \(String(decoding: log, as: UTF8.self))")
      restarts += facts["Restarts"].flatMap { Int($0) } ?? 0
    }
    #expect(restarts >= 8, "seven kills and a time limit")
    let ended = try (1...Self.parts).contains { part in
      try String(contentsOfFile: bench.job + "/reports/\(array)_\(part).log", encoding: .utf8).contains(
        "ended with 75")
    }
    #expect(ended, "the time limit, or the drained node, ended a part with 75")
    for _ in 0..<300 where !FileManager.default.fileExists(atPath: bench.job + "/reports/report.json") {
      try await Task.sleep(for: .milliseconds(400))
    }
    return restarts
  }

  /// Takes the node away from what runs on it, as who maintains it does.
  private func drain(_ cluster: SlurmCluster, _ array: String) async throws {
    let node = try await cluster.command(["sinfo", "--noheader", "--format=%n"]).output
      .trimmingCharacters(in: .whitespacesAndNewlines)
    try await cluster.command(["scontrol", "update", "NodeName=\(node)", "State=DRAIN", "Reason=test"])
    for task in try await cluster.tasks(of: array) where task.state == "R" {
      try await cluster.command(["scontrol", "requeue", "\(array)_\(task.index)"])
    }
    for _ in 0..<200 {
      let state = try await cluster.command(["sinfo", "--noheader", "--format=%T"]).output
      if state.contains("drained") { break }
      try await Task.sleep(for: .milliseconds(300))
    }
    try await cluster.command(["scontrol", "update", "NodeName=\(node)", "State=RESUME"])
  }

  /// Removes the state of a part whose runner was killed just now.
  private func remove(_ part: Int, _ bench: Bench) async throws -> Bool {
    guard part != Self.longPart else { return false }
    let folder = bench.state + "/array/shards/\(part)-of-\(Self.parts)"
    let lock = open(folder + "/run.lock", O_RDWR)
    guard lock >= 0 else { return false }
    defer { close(lock) }
    for _ in 0..<20 where flock(lock, LOCK_EX | LOCK_NB) != 0 { try await Task.sleep(for: .milliseconds(10)) }
    try FileManager.default.removeItem(atPath: folder)
    return true
  }
}
