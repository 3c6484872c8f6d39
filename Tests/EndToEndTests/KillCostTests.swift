import Foundation
import TestSupport
import Testing

/// What a kill costs: not the chunks that were begun, only what came since they were last recorded.
@Suite(.turns)
struct KillCostTests {
  private static let size = 24 << 20
  /// Bytes a second of each connection: a chunk takes longer than any attempt has.
  private static let rate = 1 << 20
  private static let kills = 6
  /// Three connections bring that in a third of a second; the chunks that are under way are 24 MiB.
  private static let most: Int64 = 1 << 20

  /// Kills a run at seeded instants, and lets the last one go to its end.
  private func killed(_ bench: Bench, _ yaml: String) async throws -> HaulRun {
    var random = SeededRandom(17)
    try bench.writeJob(yaml)
    for _ in 0..<Self.kills {
      let haul = try bench.start(bench.runArguments())
      while haul.isAlive, !haul.listensToSignals { try await Task.sleep(for: .milliseconds(10)) }
      try await Task.sleep(for: .milliseconds(Int.random(in: 450..<800, using: &random)))
      haul.signal(SIGKILL)
      #expect(try await haul.wait().status == 128 + SIGKILL)
    }
    return try await bench.run()
  }

  private func job(_ url: String) -> String {
    """
    version: 1
    job: kills
    defaults: { chunk_size: 8MiB, policy: { chunks_in_flight: 4, network: { proxy: none } } }
    transfers:
      - { id: f, download: \(quoted(url)), to: f }
    """
  }

  private func check(_ run: HaulRun, _ bench: Bench, again: Int64) throws {
    #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    #expect(try bench.isSame("f", "f") && bench.parts() == [])
    #expect(again <= Self.most * Int64(Self.kills), "\(again) bytes came again in \(Self.kills) kills")
    let (bytes, chunks) = (run["f"]["bytes"], run["f"]["chunks"])
    let (moved, discarded, reused) = (
      bytes["transferred"].int ?? 0, bytes["discarded"].int ?? -1, bytes["reused"].int ?? 0
    )
    let size = Int64(Self.size)
    // What was on record of a killed attempt is counted; all that came and is not there was discarded.
    #expect(moved >= size && moved - discarded <= size && reused > 0 && reused < size, "\(bytes)")
    #expect(chunks["completed"].int == 3 && run["f"]["contiguous_bytes"].int == size)
  }

  @Test func ofADownloadFromDepot() async throws {
    let bench = try Bench()
    try bench.serve("f", size: Self.size)
    let depot = try await Depot(bench, faults: Depot.slow(Self.rate))
    let run = try await killed(bench, job(depot.url + "/files/f"))
    var again = MovedAgain()
    again.take(try await depot.log()[...])
    try check(run, bench, again: again.bytes)
  }

  @Test(.enabled(if: Nginx.isInstalled)) func ofADownloadFromNginx() async throws {
    let bench = try Bench()
    try bench.serve("f", size: Self.size)
    let nginx = try await Nginx(bench) { $0.rate = Self.rate }
    let run = try await killed(bench, job(nginx.url + "/f"))
    let sent = nginx.log().reduce(0) { $0 + ($1["bytes_out"].int ?? 0) }
    try check(run, bench, again: sent - Int64(Self.size))
  }

  /// A part file whose beginning of a chunk was spoilt between two attempts: that much is fetched again, and no more.
  @Test func ofASpoiltBeginning() async throws {
    let bench = try Bench()
    try bench.serve("f", size: Self.size)
    let depot = try await Depot(bench, faults: Depot.slow(Self.rate))
    try bench.writeJob(job(depot.url + "/files/f"))
    let haul = try bench.start(bench.runArguments())
    try await Task.sleep(for: .milliseconds(1500))
    haul.signal(SIGKILL)
    _ = try await haul.wait()
    let part = bench.job + "/" + (try #require(bench.parts().first))
    let handle = try #require(FileHandle(forWritingAtPath: part))
    try handle.seek(toOffset: 100)
    try handle.write(contentsOf: Data([1, 2, 3]))
    try handle.close()
    let run = try await bench.run()
    #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    #expect(run.remarks.contains("recorded chunks are damaged on disk"), "\(run.remarks)")
    #expect(try bench.isSame("f", "f"))
    var again = MovedAgain()
    again.take(try await depot.log()[...])
    #expect(again.bytes > 100 && again.bytes <= Int64(2 * Self.rate + (1 << 20)), "\(again.bytes)")
  }
}
