import Testing

@testable import Transfers

/// When a session of an upload is renewed, by how long it lives and how long its chunks take.
struct SessionClockTests {
  private func clock(life: Double?, slowest: Double = 0) -> SessionClock {
    var clock = SessionClock()
    clock.opened(expiresAt: life.map { 1000 + $0 }, now: 1000)
    clock.sent(seconds: slowest)
    return clock
  }

  @Test(arguments: [
    // A minute before the end of a long one, in the last quarter of a short one.
    (86_400.0, 0.0, 86_339.0, false), (86_400, 0, 86_341, true), (8, 0, 5.9, false), (8, 0, 6.1, true),
    // Slow chunks need more; but half of its life each session is used.
    (86_400, 100, 86_190, false), (86_400, 100, 86_210, true), (8, 30, 3.9, false), (8, 30, 4.1, true),
    // Of one that is over already there is nothing to wait for.
    (-5, 0, 1, true),
  ])
  func due(_ life: Double, _ slowest: Double, _ at: Double, _ isDue: Bool) {
    #expect(clock(life: life, slowest: slowest).isDue(1000 + at) == isDue)
  }

  @Test func withoutAnEndThereIsNone() {
    #expect(!clock(life: nil, slowest: 1e9).isDue(1e18))
  }

  @Test func whatTheServerWillNotRenewGoesOnToItsEnd() {
    var clock = clock(life: 8)
    clock.refused()
    #expect(!clock.isDue(1007.9))
    clock.opened(expiresAt: 1020, now: 1008)
    #expect(!clock.isDue(1019), "nothing was sent in it")
    clock.sent(seconds: 0)
    #expect(clock.isDue(1019))
  }

  @Test func aServerThatMovesTheEnd() {
    var clock = clock(life: 8)
    clock.moved(to: 1016)
    #expect(!clock.isDue(1007))
  }

  /// Seconds that a session has by its server's word and that it lived, those that a chunk had been sent for when it was gone,
  /// and how many are sent at once, of four, in the session that follows.
  @Test(
    arguments: [
      // Four share the line, and none arrives in time.
      (5, 8, 8, 2), (nil, 8, 8, 2), (7200, 8, 8, 2), (-7200, 8, 8, 2),
      // It was over for another reason: most of it was not this chunk's.
      (8, 8, 4, 4), (nil, 100, 20, 4), (86_400, 3600, 60, 4),
    ] as [(Double?, Double, Double, Int)])
  func tooShort(_ life: Double?, _ lived: Double, _ seconds: Double, _ next: Int) {
    var clock = SessionClock()
    clock.opened(expiresAt: life.map { 1000 + $0 }, now: 1000)
    #expect(clock.workers(of: 4) == 4)
    // Its other chunks say the same of it.
    for _ in 0..<3 { clock.lost(seconds: seconds, now: 1000 + lived) }
    clock.opened(expiresAt: nil, now: 2000)
    #expect(clock.workers(of: 4) == next)
  }

  @Test func downToOne() {
    var clock = SessionClock()
    var (workers, wants): ([Int], [Bool]) = ([], [])
    func lose() {
      clock.opened(expiresAt: 1005, now: 1000)
      workers.append(clock.workers(of: 4))
      clock.lost(seconds: 5, now: 1005)
      wants.append(clock.wantsSmallerChunks)
    }
    for _ in 0..<5 { lose() }
    #expect(workers == [4, 2, 1, 1, 1] && wants == [false, false, false, true, true])
    // One that arrived says that they are small enough.
    clock.sent(seconds: 3)
    lose()
    #expect(wants.last == false && clock.workers(of: 0) == 1)
  }
}
