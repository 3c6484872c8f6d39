import Foundation
import TestSupport
import Testing

/// Kills at seeded instants, then to the end: what every endpoint and direction has to bear.
///
/// `HAUL_TORTURE_KILLS`: a tenth of it is SIGKILLs for each of them (5; `make torture`: 50). `HAUL_TORTURE_SEED`: what
/// all instants follow from.
enum RemoteKills {
  private static let environment = ProcessInfo.processInfo.environment
  static let target = max(1, (environment["HAUL_TORTURE_KILLS"].flatMap { Int($0) } ?? 50) / 10)
  static let seed = environment["HAUL_TORTURE_SEED"].flatMap { UInt64($0) } ?? 20_261_121
  private static let mostInRound = 10

  /// One job of one transfer, with its server.
  struct Round {
    let bench: Bench
    var environment: [String: String] = [:]
    /// How long after its start a run is killed, in milliseconds.
    var span = 600
    /// The server has seen some of the bytes: the first kill waits for it.
    let isBegun: () -> Bool
    /// All bytes have crossed the network; some kills wait for it, as what follows is short.
    let isOver: () -> Bool
    /// Before the run that is let through.
    var prepareLast: () throws -> Void = {}
    /// Looks at what there is in the end, and tells how many bytes the network carried more than once.
    let settle: (HaulRun) throws -> Int64
  }

  /// Kills rounds of one kind until it has been enough; each goes on to its end.
  ///
  /// - Parameters:
  ///   - cost: bytes that a kill may make cross the network again.
  ///   - resumes: whether what a killed run moved can be of use to the next one.
  static func torture(
    _ name: String, cost: Int, resumes: Bool = true, make: (UInt64) async throws -> Round
  ) async throws {
    var random = SeededRandom(name.utf8.reduce(seed) { ($0 ^ UInt64($1)) &* 0x100_0000_01B3 })
    var (kills, rounds, again, reused) = (0, 0, Int64(0), Int64(0))
    while kills < target {
      rounds += 1
      try #require(rounds <= target + 8, "\(name): \(kills) kills only")
      let at = "HAUL_TORTURE_SEED=\(seed), \(name), round \(rounds)"
      let round = try await make(random.next())
      let killed = try await kill(round, atMost: min(mostInRound, target - kills), &random)
      try round.prepareLast()
      let run = try await round.bench.run(nil, environment: round.environment)
      #expect(run.status == 0, "\(at): \(run.errors)")
      #expect(run.faults == "", "\(at)")
      // A kill may come behind the completion.
      #expect(["completed", "up_to_date"].contains(run["one"]["state"].string), "\(at): \(run.state("one"))")
      #expect(round.bench.parts() == [], "\(at)")
      let moved = try round.settle(run)
      #expect(moved <= Int64(killed * cost), "\(at): \(moved) bytes again in \(killed) kills")
      kills += killed
      again += moved
      let size = run["one"]["size"].int ?? 0
      // Where nothing was moved again, all was of use, also where the last kill came behind the server's own completion.
      let isAll = run.state("one") != "completed" || moved == 0
      reused += isAll ? size : run["one"]["bytes"]["reused"].int ?? 0
    }
    print(
      "kills, \(name): \(kills) in \(rounds) rounds, moved again a kill: \(again / Int64(kills)), allowed \(cost) bytes; seed \(seed)"
    )
    #expect(reused > 0 || !resumes, "\(name): nothing that was kept was of use")
  }

  private static func kill(_ round: Round, atMost most: Int, _ random: inout SeededRandom) async throws -> Int
  {
    for count in 0..<most {
      // The first one leaves something behind.
      let instant = Int.random(in: (count == 0 ? round.span / 2 : 0)..<round.span, using: &random)
      let isLate = count > 0 && Int.random(in: 0..<6, using: &random) == 0
      let running = try round.bench.start(round.bench.runArguments(), environment: round.environment)
      if count == 0 { try await wait(while: { !round.isBegun() && running.isAlive }) }
      if isLate { try await wait(while: { !round.isOver() && running.isAlive }) }
      try await Task.sleep(for: .milliseconds(isLate ? instant / 10 : instant))
      running.signal(SIGKILL)
      // One that came to its end before is no kill.
      guard try await running.wait().status == 128 + SIGKILL else { return count }
    }
    return most
  }

  /// Waits until the condition no longer holds.
  static func wait(while condition: () -> Bool) async throws {
    for _ in 0..<3000 {
      guard condition() else { return }
      try await Task.sleep(for: .milliseconds(10))
    }
    throw TestFault("what was waited for did not come")
  }

  /// Files whose sizes are where chunking goes wrong, with a chunk of 1 MiB: name and size.
  static let sizes: [(name: String, size: Int)] = [
    ("one", 1), ("less", (1 << 20) - 1), ("just", 1 << 20), ("more", (1 << 20) + 1), ("large", 200 << 20),
  ]
}
