import Foundation
import TestSupport
import Testing

/// `packaging/slurm` on a real Slurm, where HAUL_SLURM is set: minutes, and not green yet.
@Suite(
  .turns, .timeLimit(.minutes(30)),
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
    defaults: { policy: { transfers: 16, network: { proxy: none } }, chunk_size: 64KiB }
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

  private static let rows = 64
  /// Bytes a second of a connection: the long file takes longer than the time limit.
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

  /// Processes of haul that run a part of the bench's job.
  private func runners(_ bench: Bench) -> [pid_t] {
    let names = (try? FileManager.default.contentsOfDirectory(atPath: "/proc")) ?? []
    return names.compactMap { pid_t($0) }.filter { pid in
      let words = FileManager.default.contents(atPath: "/proc/\(pid)/cmdline") ?? Data()
      let text = String(decoding: words, as: UTF8.self)
      return text.hasPrefix(Programs.haul + "\0run\0") && text.contains(bench.scratch.path)
    }
  }

  @Test func anArrayWithAllThatMayHappen() async throws {
    let (one, many) = (try Bench(), try Bench())
    let quick = try await Depot(one)
    try prepare(one, serving: one)
    let whole = try await one.run(Self.job(quick.url))
    #expect(whole.status == 0, "\(whole.errors)")
    let slow = try Bench()
    let depot = try await Depot(slow, faults: Depot.slow(Self.rate))
    try prepare(many, serving: slow)
    try many.writeJob(Self.job(depot.url))
    let cluster = try await SlurmCluster(many, cores: 4)
    do {
      try await run(cluster, many)
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
    #expect(
      ComparedReport(merged, wasRepeated: true).transfers
        == ComparedReport(whole.report, wasRepeated: true).transfers)
    let (expected, found) = (
      ComparedReport(whole.report, wasRepeated: true), ComparedReport(merged, wasRepeated: true)
    )
    #expect(found.totals == expected.totals && merged["run"]["exit_code"].int == 0)
    #expect(merged["run"]["shards"]["merged"].int == Int64(Self.parts))
    for row in 0..<Self.rows {
      #expect(try Sums.file(many.job + "/got/f\(row).bin") == Sums.file(slow.served + "/f\(row).bin"))
    }
    #expect(try Sums.file(many.job + "/long.bin") == Sums.file(slow.served + "/long.bin"))
  }

  private func run(_ cluster: SlurmCluster, _ bench: Bench) async throws {
    let submitted = try await cluster.command(
      [Programs.root + "/packaging/slurm/submit", "\(Self.parts)", "4", "job.yaml", "reports"],
      environment: [
        "HAUL": Programs.haul, "HAUL_STATE_DIR": bench.state,
        // The long part runs into its time limit, and ends with 75 before.
        "SBATCH_OPTIONS": "--time=1 --signal=B:TERM@20",
      ])
    let ids = submitted.output.split(whereSeparator: \.isWhitespace).map(String.init)
    try #require(submitted.status == 0 && ids.count == 2, "\(submitted.errors)")
    let array = ids[0]
    var random = SeededRandom(5)
    var kills = 0
    var (isDrained, isRemoved) = (false, false)
    var left = try await cluster.tasks(of: array)
    let deadline = ContinuousClock.now + .seconds(1200)
    while !left.isEmpty, ContinuousClock.now < deadline {
      try await Task.sleep(for: .milliseconds(700))
      if kills < 5, let pid = runners(bench).randomElement(using: &random) {
        kill(pid, SIGKILL)
        kills += 1
      }
      left = try await cluster.tasks(of: array)
      let waiting = left.filter { $0.state == "PD" }.count
      if kills >= 3, !isDrained, waiting < Self.parts - 4 {
        isDrained = true
        try await drain(cluster, array)
      }
      if kills >= 4, !isRemoved {
        isRemoved = try remove(bench)
      }
    }
    #expect(
      left.isEmpty && kills == 5 && isDrained && isRemoved, "\(left) \(kills) \(isDrained) \(isRemoved)")
    var restarts = 0
    for part in 1...Self.parts {
      let facts = try await cluster.facts(of: "\(array)_\(part)")
      let log = FileManager.default.contents(atPath: bench.job + "/reports/\(array)_\(part).log") ?? Data()
      #expect(
        facts["JobState"] == "COMPLETED" && facts["ExitCode"] == "0:0",
        "part \(part): \(facts) \(String(decoding: log, as: UTF8.self))")
      restarts += facts["Restarts"].flatMap { Int($0) } ?? 0
    }
    #expect(restarts >= 6, "five kills and a time limit")
    let ended = try (1...Self.parts).contains { part in
      try String(contentsOfFile: bench.job + "/reports/\(array)_\(part).log", encoding: .utf8).contains(
        "ended with 75")
    }
    #expect(ended, "the time limit, or the drained node, ended a part with 75")
    for _ in 0..<300 where !FileManager.default.fileExists(atPath: bench.job + "/reports/report.json") {
      try await Task.sleep(for: .milliseconds(400))
    }
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

  /// Removes the state of a part that nobody runs now.
  private func remove(_ bench: Bench) throws -> Bool {
    let folder = bench.state + "/array/shards"
    let running = runners(bench).count
    let names = ((try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []).sorted()
    guard running < 4 || names.count > running else { return false }
    for name in names {
      let lock = open(folder + "/" + name + "/run.lock", O_RDWR)
      guard lock >= 0 else { continue }
      defer { close(lock) }
      guard flock(lock, LOCK_EX | LOCK_NB) == 0 else { continue }
      try FileManager.default.removeItem(atPath: folder + "/" + name)
      return true
    }
    return false
  }
}
