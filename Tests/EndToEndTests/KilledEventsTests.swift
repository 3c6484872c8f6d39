import Foundation
import TestSupport
import Testing

/// The events of a run that is killed.
@Suite(.turns)
struct KilledEventsTests {
  /// What a kill keeps from being told is told by the next attempt: each end once, the numbers without a gap.
  @Test func eachEndIsToldOnce() async throws {
    let bench = try Bench()
    // Long enough that a busy machine kills it amid them.
    let depot = try await Depot(
      bench,
      faults: [
        #"{"match": {"method": "GET", "path": "/files/*"}, "times": 40, "action": {"delay": "500ms"}}"#
      ])
    let ids = (0..<60).map { "t\($0)" }
    for id in ids { try bench.serve(id, size: 1000) }
    let transfers = ids.map { "  - { id: \($0), download: \"depot:\($0)\", to: out/\($0) }" }
    try bench.writeJob(
      """
      version: 1
      job: told
      endpoints: { depot: \(depot.endpoint) }
      defaults: { policy: { transfers: 1 } }
      transfers:
      \(transfers.joined(separator: "\n"))

      """)
    let events = bench.scratch.path + "/events.jsonl"
    func ends() -> [String] {
      JSON.lines(events).filter { $0["to"].string == "completed" }.compactMap { $0["id"].string }
    }
    let running = try bench.start(bench.runArguments(["--events", events]))
    while ends().count < 12, running.isAlive { try await Task.sleep(for: .milliseconds(50)) }
    running.signal(SIGKILL)
    try await running.wait()
    // As if it had been killed before the last lines were written, when all that they tell was on record.
    let lines = try String(contentsOfFile: events, encoding: .utf8).split(separator: "\n")
    let told = lines.indices.filter { lines[$0].contains(#""to":"completed""#) }
    let kept = lines[...told[told.count - 6]]
    try Data((kept.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: events))
    let run = try await bench.run(nil, ["--events", events])
    #expect(run.status == 0, "\(run.errors)")
    #expect(ends().sorted() == ids.sorted())
    let all = JSON.lines(events)
    #expect(all.compactMap { $0["seq"].int } == (1...Int64(all.count)).map { $0 })
    let again = try #require(
      all.firstIndex { $0["event"].string == "run_started" && $0["attempt"].int == 2 })
    #expect(again >= kept.count + 3 && all[..<again].allSatisfy { $0["attempt"].int == 1 })
    let times = all.compactMap { $0["at"].string }
    #expect(times == times.sorted())
  }
}
