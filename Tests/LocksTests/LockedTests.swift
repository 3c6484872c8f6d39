import Locks
import Testing

struct LockedTests {
  private struct TooMany: Error, Equatable {}

  /// Each task goes on on whatever thread is free; all of them count with one value.
  @Test func tasksThatChangeThreadsCountTogether() async {
    let count = Locked(0)
    await withTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        group.addTask {
          for _ in 0..<2000 {
            count.withLock { $0 += 1 }
            await Task.yield()
            count.withLock { $0 += 1 }
          }
        }
      }
    }
    #expect(count.withLock { $0 } == 32_000)
  }

  @Test func whatIsThrownLeavesItUnlocked() {
    let count = Locked(7)
    #expect(throws: TooMany()) {
      try count.withLock { (_: inout Int) throws(TooMany) in throw TooMany() }
    }
    #expect(count.withLock { $0 } == 7)
  }
}
