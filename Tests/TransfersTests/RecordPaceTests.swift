import Testing

@testable import Transfers

/// When what is under way is recorded.
struct RecordPaceTests {
  /// A quarter of what was done until then, as a power of two, and at most a second.
  @Test(
    arguments: [
      (0, 1.0 / 32), (0.2, 1.0 / 32), (0.25, 1.0 / 16), (0.99, 1.0 / 8), (1, 0.25), (2.1, 0.5), (4, 1),
      (1e6, 1),
      (-5, 1.0 / 32),
    ] as [(Double, Double)]) func intervals(_ elapsed: Double, _ interval: Double)
  {
    #expect(RecordPace.interval(after: elapsed) == interval)
  }

  @Test func momentsAreShared() {
    var (early, late) = (RecordPace(began: 100, last: 100), RecordPace(began: 100, last: 100.03))
    #expect(!early.isDue(at: 100.02) && !late.isDue(at: 100.031))
    // Both at the 32nd of a second, however long ago their last records are.
    #expect(early.isDue(at: 100.04) && late.isDue(at: 100.04))
    #expect(!early.isDue(at: 100.05) && !late.isDue(at: 100.05))
    // After four seconds, once a second.
    let due = stride(from: 105.0, to: 110, by: 0.01).filter { early.isDue(at: $0) }
    #expect(due.count == 5)
  }

  @Test func aClockThatIsSetBack() {
    var pace = RecordPace(began: 100, last: 100)
    #expect(pace.isDue(at: 50) && !pace.isDue(at: 50.001) && pace.isDue(at: 50.04))
  }
}
