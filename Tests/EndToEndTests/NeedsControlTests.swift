import Foundation
import TestSupport
import Testing

/// Controls of a running job, where transfers need others.
@Suite(.turns)
struct NeedsControlTests {
  private struct Setting {
    let bench: Bench
    let depot: Depot
    let events: String
    let running: Running

    /// When a transfer last came to a state, by its place in the events.
    func place(_ state: String, _ id: String) -> Int? {
      JSON.lines(events).lastIndex { $0["to"].string == state && $0["id"].string == id }
    }
  }

  /// `slow` takes some seconds; `bad` is not there the first time it is asked for.
  private func start() async throws -> Setting {
    let bench = try Bench()
    let depot = try await Depot(
      bench,
      faults: [
        #"{"match": {"method": "GET", "path": "/files/slow*"}, "action": {"rate": "256KiB"}}"#,
        #"{"match": {"method": "GET", "path": "/files/bad.bin"}, "times": 1, "action": {"status": 404}}"#,
      ])
    for name in ["slow", "slower"] { try bench.serve(name + ".bin", size: 2 << 20) }
    for name in ["bad", "x", "y"] { try bench.serve(name + ".bin", size: 1000) }
    try bench.writeJob(
      """
      version: 1
      job: needy
      endpoints: { depot: \(depot.endpoint) }
      defaults: { chunk_size: 256KiB, policy: { chunks_in_flight: 1 } }
      transfers:
        - { id: slow, download: "depot:slow.bin", to: slow.bin }
        - { id: other, download: "depot:slower.bin", to: other.bin }
        - { id: dep, download: "depot:x.bin", to: x.bin, needs: [slow] }
        - { id: bad, download: "depot:bad.bin", to: bad.bin }
        - { id: last, download: "depot:y.bin", to: y.bin, needs: [bad] }

      """)
    let events = bench.scratch.path + "/events.jsonl"
    let running = try bench.start(bench.runArguments(["--events", events]))
    try await Midway.chunks(1, of: ["slow"], in: events, running)
    return Setting(bench: bench, depot: depot, events: events, running: running)
  }

  /// What was paused and is resumed waits for its needs as before; what was skipped for one has its turn with it.
  @Test func nothingRunsBeforeItsNeeds() async throws {
    let setting = try await start()
    for command in [
      ["pause", "dep"], ["pause", "slow"], ["resume", "dep"], ["retry", "bad"], ["resume", "slow"],
    ] {
      let end = try await setting.bench.haul([command[0], "needy", command[1]])
      #expect(end.status == 0, "\(command) \(end.errors)")
    }
    let run = try await HaulRun(setting.running.wait(), reportPath: setting.bench.reportPath)
    #expect(run.status == 0, "\(run.errors)\(run.remarks)")
    for (need, id) in [("slow", "dep"), ("bad", "last")] {
      let (met, begun) = (setting.place("completed", need), setting.place("running", id))
      #expect(met != nil && begun != nil && (met ?? 0) < (begun ?? 0), "\(id)")
    }
  }

  /// Who follows the events learns what became of transfers that had no turn.
  @Test func eventsTellOfWhatHadNoTurn() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    let events = bench.scratch.path + "/events.jsonl"
    let run = try await bench.run(
      """
      version: 1
      job: turns
      endpoints: { depot: \(depot.endpoint) }
      transfers:
        - { id: bad, download: "depot:none.bin", to: bad.bin }
        - { id: dep, download: "depot:none.bin", to: dep.bin, needs: [bad] }
        - { id: off, download: "depot:none.bin", to: off.bin, enabled: false }

      """, ["--events", events])
    #expect(run.status == 1, "\(run.errors)")
    for (id, reason) in [("bad", nil), ("dep", "needs:bad"), ("off", "disabled")] as [(String, String?)] {
      let told = JSON.lines(events).last { $0["event"].string == "transfer_state" && $0["id"].string == id }
      #expect(told?["to"].string == run[id]["state"].string, "\(id)")
      #expect(told?["reason"].string == reason, "\(id)")
    }
    #expect(try await Schema.faults(of: events, name: "event", isLines: true) == "")
  }

  /// What is begun from scratch amid its turn has another one in the same run.
  @Test func fromScratchAmidItsTurn() async throws {
    let setting = try await start()
    let retry = try await setting.bench.haul(["retry", "needy", "slow", "--from-scratch"])
    #expect(retry.status == 0, "\(retry.errors)")
    let run = try await HaulRun(setting.running.wait(), reportPath: setting.bench.reportPath)
    #expect(
      run.state("slow") == "completed" && run.state("dep") == "completed", "\(run.errors)\(run.remarks)")
  }
}
