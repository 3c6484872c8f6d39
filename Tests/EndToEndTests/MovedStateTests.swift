import Foundation
import TestSupport
import Testing

/// A job's folder is copied elsewhere, and the job goes on there.
@Suite(.turns)
struct MovedStateTests {
  private static let size = 3 << 20
  private static let chunk = 64 << 10

  @Test(arguments: [true, false]) func goesOnElsewhere(_ withParts: Bool) async throws {
    let bench = try Bench()
    let rate = 512 << 10
    let depot = try await Depot(bench, faults: Depot.slow(rate))
    try bench.serve("a.bin", size: Self.size, seed: 1)
    try bench.source("up.bin", size: Self.size, seed: 2)
    try bench.writeJob(
      """
      version: 1
      job: moved
      endpoints: { depot: \(depot.endpoint) }
      policies: { p: { chunks_in_flight: 2 } }
      defaults: { policy: p, chunk_size: \(Self.chunk) }
      transfers:
        - { id: down, download: "depot:a.bin", to: a.bin }
        - { id: up, upload: up.bin, to: "depot:in/up.bin" }

      """)
    let events = bench.scratch.path + "/events.jsonl"
    let running = try bench.start(bench.runArguments(["--events", events]))
    while true {
      let done = JSON.lines(events).filter { $0["event"].string == "chunk_completed" }
      if ["down", "up"].allSatisfy({ id in done.count { $0["id"].string == id } >= 12 }) { break }
      try #require(running.isAlive, "\(running.errors)")
      try await Task.sleep(for: .milliseconds(20))
    }
    running.signal(SIGKILL)
    try await running.wait()
    // What was under way is logged when depot notices the end.
    try await Task.sleep(for: .milliseconds(1500))
    var moved = MovedAgain()
    let before = try await depot.log()
    moved.take(before[...])
    _ = try Sums.shell("cp -a job job2 && cp -a state state2", in: bench.scratch.path)
    if !withParts { _ = try Sums.shell("rm .a.bin.*.haul-part", in: bench.scratch.path + "/job2") }
    // The old place is no longer there to be used by mistake.
    _ = try Sums.shell("rm -r job/up.bin job/.a.bin.* state", in: bench.scratch.path)
    let end = try await Running(
      Programs.haul,
      bench.runArguments(["--adopt"]) + ["--state-dir", bench.scratch.path + "/state2"],
      environment: bench.environment(), folder: bench.scratch.path + "/job2", scratch: bench.scratch.path
    ).wait()
    let run = try await HaulRun(end, reportPath: bench.reportPath)
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.faults == "")
    #expect(run.report["run"]["number"].int == 1 && run.report["run"]["attempt"].int == 2)
    #expect(run.state("down") == "completed" && run.state("up") == "completed")
    #expect(
      try Sums.file(bench.scratch.path + "/job2/a.bin") == Sums.file(bench.served + "/a.bin"))
    #expect(
      try Sums.file(bench.served + "/in/up.bin") == Sums.file(bench.scratch.path + "/job2/up.bin"))
    #expect(Leftovers.openSessions(bench) == [])
    let later = Array(try await depot.log()[before.count...])
    var again = moved
    again.take(later[...])
    // Of both together: two chunks each were in flight, and one commit group may not have been written.
    let cost = Int64(4 * Self.chunk + 4 * rate / 20 + Self.chunk)
    let asked = later.downloads.reduce(0) { $0 + $1.sent }
    if withParts {
      #expect(again.bytes <= cost, "\(again.bytes) bytes moved again")
      #expect(asked <= Int64(Self.size - 12 * Self.chunk))
    } else {
      // The part file did not come along: all of it, and nothing else, is fetched again.
      #expect(asked == Int64(Self.size))
      let uploaded = later.chunks.reduce(0) { $0 + $1.received }
      #expect(uploaded <= Int64(Self.size - 12 * Self.chunk) + cost)
    }
  }
}
