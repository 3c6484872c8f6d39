import Foundation
import TestSupport
import Testing

/// Uploads that take many times as long as their sessions live.
@Suite(.turns)
struct SessionRenewalTests {
  private static let chunks = 40

  private func begin() async throws -> (Bench, Depot) {
    let bench = try Bench()
    let depot = try await Depot(bench, options: ["--session-ttl", "2s"])
    try bench.source("big.bin", size: Self.chunks * 256 << 10)
    try bench.writeJob(
      """
      version: 1
      job: long
      policies: { p: { bandwidth: 1MB/s, chunks_in_flight: 2, retry: { attempts: 3, initial: 20ms, max: 200ms } } }
      endpoints: { depot: \(depot.endpoint) }
      defaults: { policy: p, chunk_size: 256KiB }
      transfers: [{ id: big, upload: big.bin, to: "depot:big.bin" }]
      """)
    return (bench, depot)
  }

  private func stored(_ visits: [Visit]) -> [String: Int] {
    visits.filter { $0.isChunk && (200...299).contains($0.status ?? 0) }.reduce(into: [:]) {
      $0[$1.path.split(separator: "/").last.map(String.init) ?? "?", default: 0] += 1
    }
  }

  @Test func eachChunkOnce() async throws {
    let (bench, depot) = try await begin()
    let run = try await bench.run(nil)
    #expect(run.status == 0 && run.state("big") == "completed", "\(run.errors)")
    #expect(run.faults == "")
    #expect(try Sums.file(bench.served + "/big.bin") == Sums.file(bench.job + "/big.bin"))
    let log = try await depot.log()
    #expect(log.count(where: \.isCreate) >= 3, "one session was enough")
    #expect(stored(log).count == Self.chunks && stored(log).values.allSatisfy { $0 == 1 }, "\(stored(log))")
    #expect(run.totals["bytes"]["discarded"].int == 0 && run.transferred == Int64(Self.chunks * 256 << 10))
  }

  @Test func killedOnTheWay() async throws {
    let (bench, depot) = try await begin()
    for count in [4, 6, 5] {
      let events = bench.scratch.path + "/events-\(count).jsonl"
      let running = try bench.start(bench.runArguments(["--events", events]))
      try await Midway.chunks(count, of: ["big"], in: events, running)
      running.signal(SIGKILL)
      _ = try await running.wait()
      // The session that was left ends meanwhile.
      try await Task.sleep(for: .seconds(count == 6 ? 4 : 0))
    }
    let run = try await bench.run(nil)
    #expect(run.status == 0 && run.state("big") == "completed", "\(run.errors)")
    #expect(try Sums.file(bench.served + "/big.bin") == Sums.file(bench.job + "/big.bin"))
    #expect(stored(try await depot.log()).count == Self.chunks)
  }
}
