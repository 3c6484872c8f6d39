import Foundation
import TestSupport
import Testing

/// A kill between the server's opening of a session and its record: nobody has its id, and its key finds it again.
@Suite(.turns)
struct SessionIntentTests {
  private func job(_ depot: Depot, _ lines: String) -> String {
    """
    version: 1
    job: intent
    endpoints: { depot: \(depot.endpoint) }
    policies: { p: { retry: { attempts: 9, initial: 60s, max: 60s } } }
    defaults: { policy: p, chunk_size: 64KiB }
    transfers:
      - { id: beside, upload: beside.bin, to: "depot:in/beside.bin" }
    \(lines)

    """
  }

  /// haul killed while it waits for a second answer to its create, and the depot with it.
  private func killed() async throws -> (Bench, Depot) {
    let (bench, depot) = try await bothKilled()
    return (bench, try await Depot(bench, port: depot.port))
  }

  private func bothKilled() async throws -> (Bench, Depot) {
    let bench = try Bench()
    let depot = try await Depot(
      bench,
      faults: [
        #"{"match": {"method": "POST", "path": "*/sessions"}, "skip": 1, "action": {"loseAnswer": true}}"#
      ])
    try bench.source("beside.bin", size: 1000, seed: 1)
    try bench.source("up.bin", size: 300_000, seed: 2)
    try bench.writeJob(
      job(depot, #"  - { id: one, upload: up.bin, to: "depot:in/up.bin", needs: [beside] }"#))
    let running = try bench.start(bench.runArguments())
    while Leftovers.openSessions(bench) != ["session of in/up.bin, journal of 0 bytes"] {
      try #require(running.isAlive, "\(running.errors)")
      try await Task.sleep(for: .milliseconds(20))
    }
    running.signal(SIGKILL)
    try await running.wait()
    depot.process.signal(SIGKILL)
    try await depot.process.wait()
    return (bench, depot)
  }

  @Test(arguments: ["removed", "canceled"]) func endsWithItsTransfer(_ manner: String) async throws {
    let (bench, depot) = try await killed()
    switch manner {
    case "canceled":
      #expect(try await bench.haul(["cancel", "intent", "one"]).status == 0)
    default:
      try bench.writeJob(job(depot, ""))
      #expect(try await bench.haul(["plan", "job.yaml"]).status == 0)
      #expect(Leftovers.openSessions(bench).count == 1, "a plan ends no session")
      let run = try await bench.run()
      #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    }
    #expect(Leftovers.openSessions(bench) == [])
    #expect(try await depot.log().count { $0.method == "DELETE" && $0.status == 204 } == 1)
  }

  /// The server is silent when the transfer is canceled: who comes next asks it.
  @Test(arguments: ["run", "gc"]) func endsAfterItsTransfer(_ manner: String) async throws {
    let (bench, gone) = try await bothKilled()
    let cancel = try await bench.haul(["cancel", "intent", "one"])
    #expect(cancel.status == 0, "\(cancel.errors)")
    #expect(cancel.errors.contains("can't be known now") && cancel.errors.contains("haul gc"))
    let depot = try await Depot(bench, port: gone.port)
    #expect(Leftovers.openSessions(bench).count == 1)
    if manner == "gc" {
      let dry = try await bench.haul(["gc", "intent", "--dry-run"])
      #expect(dry.output.contains("would remove session"), "\(dry.output)")
      let told = try await bench.haul(["gc", "intent"])
      #expect(told.status == 0 && told.output.contains("removed session"), "\(told.output) \(told.errors)")
      #expect(try await bench.haul(["gc", "intent"]).output == "nothing to remove\n")
    } else {
      let run = try await bench.run()
      #expect(run.status == 0 && run.faults == "" && run.state("one") == "canceled", "\(run.errors)")
    }
    #expect(Leftovers.openSessions(bench) == [])
    #expect(try await depot.log().count { $0.method == "DELETE" && $0.status == 204 } == 1)
  }

  /// Another version of the source, or chunks of another size, are another key: the session that was asked for under
  /// the old one is ended.
  @Test(arguments: ["source", "chunks"]) func endsWithItsVersion(_ what: String) async throws {
    let (bench, depot) = try await killed()
    if what == "source" {
      try bench.source("up.bin", size: 300_001, seed: 3)
    } else {
      try bench.writeJob(
        job(
          depot,
          #"  - { id: one, upload: up.bin, to: "depot:in/up.bin", needs: [beside], chunk_size: 128KiB }"#))
    }
    let run = try await bench.run()
    #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    #expect(try Sums.file(bench.served + "/in/up.bin") == Sums.file(bench.job + "/up.bin"))
    #expect(Leftovers.find(bench, job: "intent") == [])
    #expect(try await depot.log().count { $0.method == "DELETE" && $0.status == 204 } == 1)
  }

  /// The same source takes up the session that it was opened for.
  @Test func goesOn() async throws {
    let (bench, depot) = try await killed()
    let run = try await bench.run()
    #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    #expect(try Sums.file(bench.served + "/in/up.bin") == Sums.file(bench.job + "/up.bin"))
    #expect(Leftovers.find(bench, job: "intent") == [])
    #expect(try await depot.log().filter(\.isCreate).last?.status == 200)
  }
}
