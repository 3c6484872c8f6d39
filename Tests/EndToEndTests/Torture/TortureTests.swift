import Foundation
import TestSupport
import Testing

/// The real programs, killed at seeded instants: the end is always that of an undisturbed run.
///
/// `HAUL_TORTURE_KILLS`: SIGKILLs in all (50; `make torture`: 500). `HAUL_TORTURE_SEED`: what all instants, victims
/// and files follow from. `HAUL_TORTURE_ROUND`: this round alone.
@Suite(.turns(minutes: 90))
struct TortureTests {
  /// Rounds at a time: they wait more than they work.
  private static let lanes = 2

  /// Bytes that a kill may cost: chunks in flight, and what one commit group of 50 ms can hold at the bodies' rate.
  static let costOfAKill: Int64 = {
    let inFlight = TortureJob.transfersAtOnce * TortureJob.chunksAtOnce
    return Int64(inFlight * TortureJob.chunk + inFlight * TortureJob.rate / 20)
  }()

  @Test func killedAndKilledAgain() async throws {
    let environment = ProcessInfo.processInfo.environment
    let target = environment["HAUL_TORTURE_KILLS"].flatMap { Int($0) } ?? 50
    let seed = environment["HAUL_TORTURE_SEED"].flatMap { UInt64($0) } ?? 20_261_121
    let only = environment["HAUL_TORTURE_ROUND"].flatMap { Int($0) }
    print("torture: seed \(seed), \(target) kills")
    let tally = Tally(target: target, only: only)
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<(only == nil ? Self.lanes : 1) {
        group.addTask {
          while let (round, missing) = await tally.next() {
            let result = try await TortureRound(seed: Self.seed(seed, round)).run(atMost: missing)
            await tally.add(result, round: round)
            for fault in result.faults + result.partial {
              Issue.record("HAUL_TORTURE_SEED=\(seed) HAUL_TORTURE_ROUND=\(round): \(fault)")
            }
          }
        }
      }
      try await group.waitForAll()
    }
    print(await tally.text(limit: Self.costOfAKill))
    let (killed, again) = await (tally.killed, tally.movedAgain)
    #expect(only != nil || killed >= target)
    #expect(again <= Self.costOfAKill * Int64(killed))
  }

  private static func seed(_ seed: UInt64, _ round: Int) -> UInt64 {
    var random = SeededRandom(seed ^ (UInt64(round) &* 0xD6E8_FEB8_6659_FD93))
    return random.next()
  }

  private actor Tally {
    let target: Int
    let only: Int?
    var begun = 0
    /// Kills that rounds under way may bring yet.
    var underWay: [Int: Int] = [:]
    var rounds = 0
    var kills: [TortureRound.Victim: Int] = [:]
    var again: Int64 = 0
    var discarded: Int64 = 0
    var most: Int64 = 0
    var files = 0
    var looks = 0
    var wrong = 0
    var partial = 0

    init(target: Int, only: Int?) {
      self.target = target
      self.only = only
    }

    var killed: Int { kills.values.reduce(0, +) }
    var movedAgain: Int64 { again + discarded }

    /// The next round's number and how many kills are missing; nil where it is enough.
    func next() -> (Int, Int)? {
      let missing = target - killed - underWay.values.reduce(0, +)
      guard missing > 0, begun < (only == nil ? target * 2 + 8 : 1) else { return nil }
      begun += 1
      underWay[only ?? begun] = min(missing, TortureRound.mostKills)
      return (only ?? begun, missing)
    }

    func add(_ result: TortureRound.Result, round: Int) {
      underWay[round] = nil
      rounds += 1
      kills.merge(result.kills, uniquingKeysWith: +)
      again += result.again
      discarded += result.discarded
      most = max(most, result.stretches.max() ?? 0)
      files += result.files
      looks += result.looks
      wrong += result.faults.count
      partial += result.partial.count
      print(
        "torture round \(round): \(result.killed) kills, \(result.again + result.discarded) of \(result.useful) bytes moved again, \(result.faults.count + result.partial.count) faults"
      )
    }

    func text(limit: Int64) -> String {
      """
      torture: \(killed) kills in \(rounds) rounds (haul \(kills[.haul] ?? 0), depot \(kills[.depot] ?? 0), both \(kills[.both] ?? 0)), \(files) files
      torture: \(wrong) wrong, \(partial) partial in \(looks) looks at destinations
      torture: moved again a kill: mean \((again + discarded) / Int64(max(1, killed))), at most \(most), allowed \(limit) bytes
      """
    }
  }
}
