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
}
