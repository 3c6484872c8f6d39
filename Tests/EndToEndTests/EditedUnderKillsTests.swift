import Foundation
import TestSupport
import Testing

/// A job that is killed again and again, and whose manifest is edited in between.
@Suite(.turns)
struct EditedUnderKillsTests {
  private static let size = 4 << 20
  private static let chunk = 64 << 10
  /// Bytes a second of each body.
  private static let rate = 128 << 10
  private static let inFlight = 12

  private func job(_ depot: Depot, isEdited: Bool) -> String {
    let size = { (bytes: Int) in "chunk_size: \(bytes)" }
    let changing = isEdited ? Self.chunk * 2 : Self.chunk
    let moving =
      isEdited
      ? [
        "  - { id: new-down, download: \"depot:small.bin\", to: new.bin }",
        "  - { id: new-up, upload: new-up.bin, to: \"depot:in/new-up.bin\" }",
      ]
      : [
        "  - { id: gone-down, download: \"depot:b.bin\", to: gone.bin }",
        "  - { id: gone-up, upload: gone-up.bin, to: \"depot:in/gone-up.bin\" }",
      ]
    return """
      version: 1
      job: edited
      endpoints: { depot: \(depot.endpoint) }
      policies:
        p:
          transfers: 6
          chunks_in_flight: 2
          connections: { total: 16, per_host: 16 }
      defaults: { policy: p, \(size(Self.chunk)) }
      transfers:
        - { id: down, download: "depot:a.bin", to: a.bin }
        - { id: up, upload: up.bin, to: "depot:in/up.bin" }
        - { id: other-down, download: "depot:c.bin", to: c.bin, \(size(changing)) }
        - { id: other-up, upload: other-up.bin, to: "depot:in/other-up.bin", \(size(changing)) }
      \(moving.joined(separator: "\n"))

      """
  }

  @Test func twentyKills() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench, faults: Depot.slow(Self.rate))
    // Sizes of uploads tell them apart in the log.
    for (index, name) in ["a", "b", "c"].enumerated() {
      try bench.serve("\(name).bin", size: Self.size, seed: UInt64(index) + 1)
    }
    try bench.serve("small.bin", size: 90_000, seed: 7)
    for (index, name) in ["up", "other-up", "gone-up"].enumerated() {
      try bench.source("\(name).bin", size: Self.size + index + 1, seed: UInt64(index) + 11)
    }
    try bench.source("new-up.bin", size: 91_000, seed: 17)
    try bench.writeJob(job(depot, isEdited: false))
    var random = SeededRandom(20)
    var again = MovedAgain()
    var seen = 0
    for kill in 1...20 {
      let running = try bench.start(bench.runArguments())
      try await Task.sleep(for: .milliseconds(Int.random(in: 120..<420, using: &random)))
      if kill == 10 {
        // What the manifest is to lose must be under way.
        while bench.parts().count < 3 || Leftovers.openSessions(bench).count < 3 {
          try #require(running.isAlive, "\(running.errors)")
          try await Task.sleep(for: .milliseconds(20))
        }
      }
      running.signal(SIGKILL)
      #expect(try await running.wait().status == 128 + SIGKILL, "kill \(kill)")
      let log = try await depot.log()
      again.take(log[seen...])
      seen = log.count
      if kill == 10 {
        #expect(bench.parts().contains { $0.contains("gone") })
        try bench.writeJob(job(depot, isEdited: true))
      }
    }
    let run = try await bench.run(nil)
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.faults == "")
    again.take(try await depot.log()[seen...])
    #expect(
      Set(run.transfers.compactMap { $0["id"].string })
        == ["down", "up", "other-down", "other-up", "new-down", "new-up"])
    #expect(run.transfers.allSatisfy { $0["state"].string == "completed" })
    for (mine, theirs) in ["a": "a", "c": "c", "new": "small"] {
      #expect(try bench.isSame("\(mine).bin", "\(theirs).bin"))
    }
    for name in ["up", "other-up", "new-up"] {
      #expect(try Sums.file("\(bench.served)/in/\(name).bin") == Sums.file("\(bench.job)/\(name).bin"))
    }
    // What the manifest lost: no file, no part of one, no session.
    #expect(!bench.exists("gone.bin"))
    #expect(!FileManager.default.fileExists(atPath: bench.served + "/in/gone-up.bin"))
    #expect(Leftovers.find(bench, job: "edited") == [], "\(run.report["diagnostics"]) \(run.errors)")
    #expect(try await depot.log().contains { $0.method == "DELETE" && $0.status == 204 })
    // The others kept their progress, over the edit as over every kill.
    let cost = Int64(Self.inFlight * 2 * Self.chunk + Self.inFlight * Self.rate / 20)
    #expect(again.stretches.allSatisfy { $0 <= cost }, "\(again.stretches), allowed \(cost)")
    #expect(again.bytes <= cost * 10)
  }
}
