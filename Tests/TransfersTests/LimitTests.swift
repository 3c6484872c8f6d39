import Digests
import Foundation
import JobModel
import Testing

@testable import LocalFiles
@testable import Transfers

/// What bounds memory.
struct LimitTests {
  @Test func theBudgetIsLentAndComesBack() {
    let budget = BufferBudget(bytes: 100)
    var first = budget.take(60, for: "s")
    #expect(first != nil && budget.take(41, for: "s") == nil)
    let second = budget.take(40, for: "s")
    #expect(second != nil && budget.take(1, for: "s") == nil)
    first = nil
    #expect(first == nil && budget.take(61, for: "s") == nil && budget.take(60, for: "s") != nil)
    withExtendedLifetime(second) {}
    #expect(BufferBudget(bytes: 10).take(11, for: "s") == nil)
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
    let good = try ChunkBody(file: file, range: 500..<1500, loan: nil, proof: (.sha256, digest)) { _ in }
    #expect(try read(good) == Array(bytes[500..<1500]))
    try good.rewind()
    #expect(try read(good) == Array(bytes[500..<1500]) && good.sent == 2000)
    let changed = try ChunkBody(
      file: file, range: 500..<1500, loan: nil, proof: (.sha256, FakeServer.sha256([1]))
    ) { _ in }
    #expect(throws: Failure.self) { try read(changed) }
    let short = try ChunkBody(file: file, range: 1500..<2500, loan: nil, proof: nil) { _ in }
    #expect(throws: Failure.self) { try read(short) }
    let budget = BufferBudget(bytes: 1000)
    let loan = try #require(budget.take(700, for: "s"))
    #expect(try loan.fill(100..<800, of: file))
    let buffered = try ChunkBody(file: file, range: 100..<800, loan: loan, proof: nil) { _ in }
    #expect(try read(buffered) == Array(bytes[100..<800]))
    let late = try #require(budget.take(300, for: "s"))
    #expect(try !late.fill(1900..<2200, of: file))
  }
}
