import Foundation
import TestSupport
import Testing

/// `if_exists` never takes what the job itself wrote for a stranger's, whatever became of the update that was to replace it.
@Suite(.turns)
struct OwnUpdatesTests {
  private static let ways: [[[String]]] = [
    [], [["cancel", "own"], ["retry", "own"]], [["retry", "own", "one", "--from-scratch"]],
  ]

  @Test(arguments: ["keep", "fail"], ways)
  func anUpdateThatWasStopped(_ rule: String, _ commands: [[String]]) async throws {
    let bench = try Bench()
    let depot = try await Depot(
      bench,
      faults: [
        #"{"match": {"method": "POST", "path": "/uploads/sessions"}, "skip": 1, "times": 1, "action": {"status": 503}}"#
      ])
    try bench.source("a.bin", size: 300_000, seed: 1)
    let yaml = """
      version: 1
      job: own
      endpoints: { depot: \(depot.endpoint) }
      defaults: { chunk_size: 64KiB, policy: { retry: { attempts: 1 } } }
      transfers: [{ id: one, upload: a.bin, to: "depot:in/a.bin", if_exists: \(rule) }]

      """
    let first = try await bench.run(yaml)
    #expect(first.status == 0, "\(first.errors)")
    try bench.source("a.bin", size: 300_000, seed: 2)
    let stopped = try await bench.run(nil)
    #expect(
      stopped.status == 75 && stopped.state("one") == "paused retries SERVER_ERROR", "\(stopped.errors)")
    for command in commands {
      let end = try await bench.haul(command)
      #expect(end.status == 0 && end.errors.contains("1 transfer"), "\(command) \(end.errors)")
    }
    let last = try await bench.run(nil)
    #expect(last.status == 0 && last.state("one") == "completed", "\(last.errors)")
    #expect(try Sums.file(bench.served + "/in/a.bin") == Sums.file(bench.job + "/a.bin"))
    // What somebody else has put there since is a stranger's, whether our source changed or not.
    for seed: UInt64 in [2, 3] {
      _ = try Sums.shell("head -c 300000 /dev/zero | tr '\\0' x > n && mv n in/a.bin", in: bench.served)
      try bench.source("a.bin", size: 300_000, seed: seed)
      let strange = try await bench.run(nil)
      let state = rule == "keep" ? "skipped exists" : "failed DESTINATION_EXISTS"
      #expect(strange.state("one") == state, "\(strange.errors)")
      #expect(try Sums.shell("tr -d x < in/a.bin | wc -c", in: bench.served).hasPrefix("0"))
    }
  }
}
