import JobModel
import Testing

@testable import Reporting

/// What only the counts that all parts tell can show.
extension MergeTests {
  /// What came at the plan's end when its part had ended leaves no gap. Reports of earlier versions do not tell the count.
  @Test func partsOfPlansOfOtherLengthAreRefused() throws {
    func part(_ index: Int, _ whole: Int?, _ transfers: [JSON]) -> JSON {
      var shard: [JSON.Member] = [.init("index", .int(index)), .init("count", .int(2))]
      if let whole { shard.append(.init("whole", .int(whole))) }
      return ShardSamples.report(index, of: 2, transfers, run: [.init("shard", .object(shard))])
    }
    let (a, b) = ([ShardSamples.transfer(1, "a")], [ShardSamples.transfer(2, "b")])
    let fault = try self.fault([part(1, 2, a), part(2, 3, b)])
    #expect(fault.kind == .mismatch && fault.message.contains("2 transfers for `"), "\(fault.message)")
    #expect(fault.message.contains("and 3 for `"), "\(fault.message)")
    for whole in [2, nil] {
      #expect(try merged([part(1, 2, a), part(2, whole, b)])["totals"]["transfers"] == .int(2))
    }
  }

  /// A typing error in one id of a list is work that no part has. A report is a stranger's: its numbers may be any.
  @Test(
    arguments: [(3, 1, 2, 0, 0), (3, 1, 1, 0, 66), (3, 1, 1, 75, 75), (0, 0, 0, 0, 0), (Int.min, 1, 0, 0, 0)])
  func anIDThatNoPartHasIsTold(_ asked: Int, _ one: Int, _ two: Int, _ code: Int, _ end: Int) throws {
    func part(_ index: Int, _ found: Int, _ sha256: String = "ab") -> JSON {
      let selection: JSON = [
        "kind": "only_from", "only": .null, "totals": ["transfers": .int(found)],
        "list": ["sha256": .string(sha256), "ids": .int(asked), "found": .int(found)],
      ]
      return ShardSamples.report(
        index, of: 2, [], exitCode: code, changed: [.init("selection", selection)])
    }
    let report = try merged([part(1, one), part(2, two)])
    #expect(report["run"]["exit_code"] == .int(end))
    #expect(report["selection"]["list"]["found"] == .int(one + two))
    let told = report["diagnostics"].array?.compactMap { $0["message"].string } ?? []
    #expect(told.contains("`--only-from`: 1 of its ids is no transfer of any shard") == (one + two < asked))
    let other = try fault([part(1, one), part(2, two, "cd")])
    #expect(other.kind == .mismatch && other.message.contains("list of `--only-from`"), "\(other.message)")
    #expect(try merged([part(1, one)], partial: true)["run"]["exit_code"] == .int(75), "another may have it")
  }
}
