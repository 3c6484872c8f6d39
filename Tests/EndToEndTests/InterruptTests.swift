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
    let depot = try await Depot(bench, faults: Depot.slow(512 << 10))
    try bench.serve("a.bin", size: Self.size, seed: 4)
    try bench.serve("b.bin", size: Self.size, seed: 8)
    try bench.source("up.bin", size: Self.size, seed: 5)
    return (bench, depot)
  }

  @Test(arguments: [SIGINT, SIGTERM])
  func signal(_ number: Int32) async throws {
    let (bench, depot) = try await slowBench()
    try bench.writeJob(job(depot))
    let events = bench.scratch.path + "/events.jsonl"
    let running = try bench.start(bench.runArguments(["--events", events]))
    try await Midway.chunks(4, of: ["down", "up", "web"], in: events, running)
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
    try await Midway.chunks(1, of: ["down"], in: events, running)
    running.signal(SIGINT)
    running.signal(SIGINT)
    let asked = ContinuousClock.now
    _ = try await running.wait(.seconds(10))
    #expect(ContinuousClock.now - asked < .seconds(3))
    let again = try await bench.run()
    #expect(again.status == 0, "\(again.errors)")
    #expect(try bench.isSame("a.bin", "a.bin"))
  }
}
