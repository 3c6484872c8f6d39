import Digests
import Foundation
import JobModel
import Testing

@testable import TransferEngine

/// What bounds rates and memory.
struct LimitTests {
  @Test func noRateNeverWaits() {
    var bucket = TokenBucket(rate: nil)
    #expect(bucket.take(1 << 40, now: 0) == 0)
    var zero = TokenBucket(rate: 0)
    #expect(zero.take(1, now: 0) == 0)
  }

  @Test(arguments: [1, 100, 1000, 16_384, 1 << 20]) func theAverageIsTheRateWhateverTheStep(step: Int) {
    let rate = 50_000.0
    var bucket = TokenBucket(rate: rate)
    var now = 100.0
    var moved = 0
    while moved < 10_000_000 {
      let wait = bucket.take(step, now: now)
      moved += step
      now += wait
    }
    let measured = Double(moved) / (now - 100)
    #expect(abs(measured - rate) / rate < 0.03, "\(measured)")
  }

  @Test func idlingSavesUpATenthOfASecondAtMost() {
    var bucket = TokenBucket(rate: 1000)
    #expect(bucket.take(1, now: 0) > 0)
    #expect(bucket.take(100, now: 3600) == 0)
    #expect(bucket.take(100, now: 3600) == 0.1)
    // A clock that goes back gives nothing away.
    #expect(bucket.take(100, now: 3599) >= 0.2)
  }

  @Test func aThrottleLimitsEachWayOnItsOwn() {
    var policy = EffectivePolicy()
    #expect(Throttle(policy).smallestRate == nil && Throttle(policy).moved(1 << 30, .download) == 0)
    policy.downloadRate = .bytesPerSecond(1000)
    let one = Throttle(policy)
    #expect(one.smallestRate == 1000 && one.moved(1 << 30, .upload) == 0)
    #expect(one.moved(1000, .download) > 0.9)
    policy.uploadRate = .bytesPerSecond(10)
    #expect(Throttle(policy).smallestRate == 10)
  }

  @Test func theBudgetIsLentAndComesBack() {
    let budget = BufferBudget(bytes: 100)
    var first = budget.take(60)
    #expect(first != nil && budget.take(41) == nil)
    let second = budget.take(40)
    #expect(second != nil && budget.take(1) == nil)
    first = nil
    #expect(first == nil && budget.take(61) == nil && budget.take(60) != nil)
    withExtendedLifetime(second) {}
    #expect(BufferBudget(bytes: 10).take(11) == nil)
  }

  @Test func bodiesThatDoNotFitTheBudgetAreHashedTwice() throws {
    let path = FileManager.default.temporaryDirectory.path + "/haul-body-" + UUID().uuidString
    defer { try? FileManager.default.removeItem(atPath: path) }
    let bytes = pattern(2000)
    try Data(bytes).write(to: URL(fileURLWithPath: path))
    let file = try OpenFile.reading(path)
    func read(_ body: ChunkBody) throws -> [UInt8] {
      var all: [UInt8] = []
      while true {
        var block = [UInt8](repeating: 0, count: 333)
        let count = try block.withUnsafeMutableBytes { try body.read(into: $0) }
        if count == 0 { return all }
        all += block[..<count]
      }
    }
    let digest = FakeServer.sha256(Array(bytes[500..<1500]))
    let good = try ChunkBody(file: file, range: 500..<1500, buffer: nil, loan: nil, proof: (.sha256, digest))
    { _ in }
    #expect(try read(good) == Array(bytes[500..<1500]))
    try good.rewind()
    #expect(try read(good) == Array(bytes[500..<1500]) && good.sent == 2000)
    let changed = try ChunkBody(
      file: file, range: 500..<1500, buffer: nil, loan: nil, proof: (.sha256, FakeServer.sha256([1]))
    ) { _ in }
    #expect(throws: Failure.self) { try read(changed) }
    let short = try ChunkBody(file: file, range: 1500..<2500, buffer: nil, loan: nil, proof: nil) { _ in }
    #expect(throws: Failure.self) { try read(short) }
    let buffered = try ChunkBody(file: file, range: 0..<5, buffer: [1, 2, 3, 4, 5], loan: nil, proof: nil) {
      _ in
    }
    #expect(try read(buffered) == [1, 2, 3, 4, 5])
  }
}
