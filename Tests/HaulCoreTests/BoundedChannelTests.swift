import JobLedger
import JobManifest
import JobModel
import Locks
import Testing
import TestSupport

@testable import HaulCore

struct BoundedChannelTests {
  private struct Fault: Error {}

  @Test(arguments: [0, 1, 3, 4, 5, 1000])
  func bringsAllInOrder(_ count: Int) throws {
    var taken: [Int] = []
    let made = try BoundedChannel<Int>.run(
      make: { give in
        for number in 0..<count { try give(number) }
        return count
      }, use: { taken.append($0) })
    #expect(made == count)
    #expect(taken == Array(0..<count))
  }

  @Test func theProducerIsNeverFarAhead() throws {
    let made = Locked(0)
    var used = 0
    try BoundedChannel<Int>.run(
      make: { give in
        for number in 0..<200 {
          try give(number)
          made.withLock { $0 += 1 }
        }
      },
      use: { _ in
        used += 1
        #expect(made.withLock { $0 } <= used + BoundedChannel<Int>.capacity)
      })
    #expect(used == 200)
  }

  @Test func aFaultOfTheProducerComesAfterItsElements() {
    var taken: [Int] = []
    #expect(throws: Fault.self) {
      try BoundedChannel<Int>.run(
        make: { give in
          try give(1)
          throw Fault()
        }, use: { taken.append($0) })
    }
    #expect(taken == [1])
  }

  /// Whoever returns knows that the producer has ended.
  @Test func aFaultOfTheConsumerEndsTheProducer() {
    let hasEnded = Locked(false)
    #expect(throws: Fault.self) {
      try BoundedChannel<Int>.run(
        make: { give in
          defer { hasEnded.withLock { $0 = true } }
          for number in 0... { try give(number) }
        }, use: { number in if number == 10 { throw Fault() } })
    }
    #expect(hasEnded.withLock { $0 })
  }
}
