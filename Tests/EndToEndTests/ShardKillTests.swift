import Foundation
import TestSupport
import Testing

/// Parts that an engine starts, kills and starts again come to the report of one machine.
@Suite(.turns)
struct ShardKillTests {
  private static let count = 4

  /// `HAUL_SHARD_SEEDS` says how many are tried.
  private static let seeds =
    Array(1...UInt64(ProcessInfo.processInfo.environment["HAUL_SHARD_SEEDS"].flatMap { Int($0) } ?? 2))

  private static func job(_ url: String) -> String {
    """
    version: 1
    job: fleet
    endpoints: { depot: { type: session, url: \(quoted(url)) } }
    defaults: { policy: { network: { proxy: none } }, chunk_size: 64KiB }
    transfers:
      - id: rows
        for_each: { csv: rows.csv, key: "${each.name}" }
        download: "depot:${each.name}.bin"
        to: "got/${each.name}.bin"
    """
  }

  private func prepare(_ bench: Bench, serving: Bench) throws {
    var csv = "name\n"
    for row in 0..<24 {
      csv += "f\(row)\n"
      try serving.serve("f\(row).bin", size: 200_000 + row, seed: UInt64(row))
    }
    try bench.writeJob(csv, as: "rows.csv")
  }

  /// One part, as an Indexed Job runs it: again until it ends with 0.
  private func run(_ index: Int, _ bench: Bench, _ seed: UInt64) async throws {
    var random = SeededRandom(seed &* 1000 &+ UInt64(index))
    let report = bench.scratch.path + "/shard-\(index).json"
    for attempt in 0..<40 {
      let haul = try bench.start(
        ["run", "job.yaml", "--shard", "auto", "--if-running", "wait", "--no-progress", "--report", report],
        environment: ["JOB_COMPLETION_INDEX": "\(index)", "HAUL_SHARDS": "\(Self.count)"])
      if attempt < 3 {
        try await Task.sleep(for: .milliseconds(Int.random(in: 50..<1500, using: &random)))
        haul.signal(Bool.random(using: &random) ? SIGKILL : SIGTERM)
      }
      let end = try await haul.wait()
      if end.status == 0 { return }
      // A signal that finds the program not yet begun ends it as any other.
      #expect([75, 128 + SIGKILL, 128 + SIGTERM].contains(end.status), "\(end.errors)")
      // The node is lost, and its state with it.
      if attempt == 1, index == 2 {
        try? FileManager.default.removeItem(
          atPath: bench.state + "/fleet/shards/\(index + 1)-of-\(Self.count)")
      }
    }
    Issue.record("part \(index) did not end with 0")
  }

  @Test(arguments: seeds) func killedPartsComeToTheWhole(_ seed: UInt64) async throws {
    let (one, many) = (try Bench(), try Bench())
    let quick = try await Depot(one)
    try prepare(one, serving: one)
    let whole = try await one.run(Self.job(quick.url))
    #expect(whole.status == 0, "\(whole.errors)")
    let slow = try Bench()
    let depot = try await Depot(slow, faults: Depot.slow(128 << 10))
    try prepare(many, serving: slow)
    try many.writeJob(Self.job(depot.url))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for index in 0..<Self.count { group.addTask { try await run(index, many, seed) } }
      try await group.waitForAll()
    }
    let paths = (0..<Self.count).map { many.scratch.path + "/shard-\($0).json" }
    let end = try await many.haul(["report", "merge"] + paths)
    #expect(end.status == 0, "\(end.errors)")
    let merged = try JSON.parse(end.output)
    #expect(merged["run"]["exit_code"].int == 0)
    #expect(merged["transfers"].array.map { $0["id"].string } == whole.transfers.map { $0["id"].string })
    #expect(merged["transfers"].array.map { $0["digests"] } == whole.transfers.map { $0["digests"] })
    for row in 0..<24 {
      #expect(try Sums.file(many.job + "/got/f\(row).bin") == Sums.file(slow.served + "/f\(row).bin"))
    }
    // A part that lost its state leaves what it had begun; nobody else's is left.
    #expect(many.parts().count <= 24)
  }
}
