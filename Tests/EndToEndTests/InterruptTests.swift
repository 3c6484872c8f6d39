import Foundation
import TestSupport
import Testing

/// A run that is stopped, by a wish or by force, goes on where it was.
@Suite(.turns, .timeLimit(.minutes(15)))
struct InterruptTests {
  private static let size = 8 << 20
  private static let chunk = 256 << 10

  private func job(_ depot: Depot) -> String {
    """
    version: 1
    job: slow
    endpoints: { depot: \(depot.endpoint) }
    defaults: { chunk_size: 256KiB }
    transfers:
      - { id: down, download: "depot:a.bin", to: a.bin }
      - { id: up, upload: up.bin, to: "depot:in/up.bin" }
      - { id: web, download: "\(depot.url)/files/b.bin", to: web.bin }

    """
  }

  private func slowBench() async throws -> (Bench, Depot) {
    let bench = try Bench()
    let depot = try await Depot(
      bench,
      faults: [
        #"{"match": {"method": "GET", "path": "/files/*"}, "action": {"rate": "512KiB"}}"#,
        #"{"match": {"method": "PUT"}, "action": {"uploadRate": "512KiB"}}"#,
      ])
    try bench.serve("a.bin", size: Self.size, seed: 4)
    try bench.serve("b.bin", size: Self.size, seed: 8)
    try bench.source("up.bin", size: Self.size, seed: 5)
    return (bench, depot)
  }

  /// Waits until an events file has at least so many completed chunks of each of the transfers.
  private func untilChunks(_ path: String, _ count: Int, _ ids: [String]) async throws {
    for _ in 0..<1000 {
      let done = JSON.lines(path).filter { $0["event"].string == "chunk_completed" }
      if ids.allSatisfy({ id in done.count { $0["id"].string == id } >= count }) { return }
      try await Task.sleep(for: .milliseconds(20))
    }
    throw TestFault("no chunks were completed")
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func signal(_ number: Int32) async throws {
    let (bench, depot) = try await slowBench()
    try bench.writeJob(job(depot))
    let events = bench.scratch.path + "/events.jsonl"
    let running = try bench.start(bench.runArguments(["--events", events]))
    try await untilChunks(events, 4, ["down", "up", "web"])
    let asked = ContinuousClock.now
    running.signal(number)
    let end = try await running.wait(.seconds(10))
    #expect(ContinuousClock.now - asked < .seconds(5))
    let first = try await HaulRun(end, reportPath: bench.reportPath)
    #expect(first.status == 75, "\(first.errors)")
    #expect(first.faults == "")
    #expect(first.outcome == "incomplete")
    for id in ["down", "up", "web"] { #expect(first.state(id) == "paused interrupted") }
    #expect(!bench.exists("a.bin"))

    // What was under way is logged when depot notices the end.
    try await Task.sleep(for: .milliseconds(1500))
    let before = try await depot.log().count
    let second = try await bench.run(nil, ["--events", events])
    #expect(second.status == 0, "\(second.errors)")
    #expect(second.faults == "")
    #expect(second.report["run"]["attempt"].int == 2)
    #expect(second.report["run"]["number"].int == 1)
    #expect(second.report["run"]["attempts"].array.map { $0["exit_code"].int } == [75, 0])
    #expect(try bench.isSame("a.bin", "a.bin") && bench.isSame("web.bin", "b.bin"))
    #expect(try Sums.file(bench.served + "/in/up.bin") == Sums.file(bench.job + "/up.bin"))

    // What was recorded in the first attempt is not asked for, or sent, in the second.
    let lines = JSON.lines(events)
    #expect(try await Schema.faults(of: events, name: "event", isLines: true) == "")
    #expect(lines.map { $0["seq"].int } == (1...Int64(lines.count)).map { $0 })
    var recorded: [String: Set<Int64>] = [:]
    // Partial chunks are kept too, but of these only what is missing may be asked for.
    for line in lines
    where line["event"].string == "chunk_completed" && line["attempt"].int == 1
      && line["bytes"].int == Int64(Self.chunk)
    {
      recorded[line["id"].string ?? "", default: []].insert(line["chunk"].int ?? -1)
    }
    let later = Array(try await depot.log().dropFirst(before))
    let resent = later.chunks.compactMap(\.offset).map { $0 / Int64(Self.chunk) }
    #expect(Set(resent).isDisjoint(with: recorded["up"] ?? []))
    #expect(resent.count == Set(resent).count)
    for (id, path) in ["down": "/files/a.bin", "web": "/files/b.bin"] {
      let asked = later.downloads.filter { $0.path == path && $0.status == 206 }
      // Nobody's log knows when an answer was cut, so it is what was asked for that must miss the recorded chunks.
      for visit in asked {
        guard let first = visit.offset, let last = visit.lastOffset else { continue }
        let chunks = Set(first / Int64(Self.chunk)...last / Int64(Self.chunk))
        #expect(chunks.isDisjoint(with: recorded[id] ?? []), "\(id): \(visit.line)")
      }
      #expect(asked.reduce(0) { $0 + $1.sent } <= Int64(Self.size - (recorded[id]?.count ?? 0) * Self.chunk))
    }
    for id in ["down", "up", "web"] {
      #expect((second[id]["chunks"]["reused"].int ?? 0) >= Int64(recorded[id]?.count ?? 1))
    }
  }

  @Test func secondSignalEndsAtOnce() async throws {
    let (bench, depot) = try await slowBench()
    try bench.writeJob(job(depot))
    let events = bench.scratch.path + "/events.jsonl"
    let running = try bench.start(bench.runArguments(["--events", events]))
    try await untilChunks(events, 1, ["down"])
    running.signal(SIGINT)
    running.signal(SIGINT)
    let asked = ContinuousClock.now
    _ = try await running.wait(.seconds(10))
    #expect(ContinuousClock.now - asked < .seconds(3))
    let again = try await bench.run()
    #expect(again.status == 0, "\(again.errors)")
    #expect(try bench.isSame("a.bin", "a.bin"))
  }

  /// Twelve kills at seeded instants, then to the end.
  @Test(arguments: ["download", "upload"])
  func kills(_ direction: String) async throws {
    let bench = try Bench()
    let size = 24 << 20
    let depot = try await Depot(
      bench,
      faults: [
        #"{"match": {"method": "GET", "path": "/files/*"}, "action": {"rate": "2MiB"}}"#,
        #"{"match": {"method": "PUT"}, "action": {"uploadRate": "2MiB"}}"#,
      ])
    try bench.serve("a.bin", size: size, seed: 6)
    try bench.source("up.bin", size: size, seed: 7)
    let transfer =
      direction == "download"
      ? "{ id: one, download: \"depot:a.bin\", to: a.bin }"
      : "{ id: one, upload: up.bin, to: \"depot:in.bin\" }"
    try bench.writeJob(
      """
      version: 1
      job: killed
      endpoints: { depot: \(depot.endpoint) }
      defaults: { chunk_size: 256KiB }
      transfers:
        - \(transfer)
      """)
    var kills = 0
    var seed: UInt64 = 0x5EED
    for _ in 0..<12 {
      seed = seed &* 6_364_136_223_846_793_005 &+ 1_442_695_040_888_963_407
      let running = try bench.start(bench.runArguments())
      try await Task.sleep(for: .milliseconds(60 + Int(seed >> 33) % 500))
      guard running.isAlive else { break }
      running.signal(SIGKILL)
      let end = try await running.wait(.seconds(5))
      #expect(end.status == 128 + SIGKILL)
      kills += 1
    }
    #expect(kills >= 8)
    let run = try await bench.run()
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.faults == "")
    if direction == "download" {
      #expect(try bench.isSame("a.bin", "a.bin"))
      #expect(bench.parts().isEmpty)
    } else {
      #expect(try Sums.file(bench.served + "/in.bin") == Sums.file(bench.job + "/up.bin"))
    }
    // Four chunks in flight, and those of one commit group that were not yet recorded.
    let moved = try await depot.log().moved
    let again = moved - Int64(size)
    #expect(
      again <= Int64(kills * 8 * Self.chunk),
      "moved again: \(again / Int64(Self.chunk)) chunks in \(kills) kills")
    print("kills \(direction): \(kills), moved again \(again) bytes = \(again / Int64(Self.chunk)) chunks")
  }
}
