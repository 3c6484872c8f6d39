import JobModel
import Testing

@testable import JobLedger

/// Which remote paths are looked at soon.
struct ComingTests {
  @Test func whatIsQueuedBehindARowOrRuns() async throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    try ledger.compile(
      (1...8).map { Entry(id: "t\($0)", source: $0 == 4 ? "other:k4" : "e:k\($0)", identity: UInt8($0)) })
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    writer.submit(.state(seq: 1, .running))
    writer.submit(.state(seq: 6, .completed))
    writer.submit(.state(seq: 7, .paused(.user)))
    try writer.close()
    func coming(_ endpoint: String = "e", after seq: Int64, limit: Int = 100) throws -> [String] {
      let found = try ledger.remotesToCome(at: endpoint, .download, after: seq, limit: limit)
      return found.paths.sorted() + ["\(found.lastRow)"]
    }
    #expect(try coming(after: 0) == ["k1", "k2", "k3", "k5", "k8", "8"])
    #expect(try coming(after: 2) == ["k1", "k3", "k5", "k8", "8"])
    // Rows of other endpoints count among those that are read.
    #expect(try coming(after: 2, limit: 2) == ["k1", "k3", "4"])
    #expect(try coming("other", after: 0) == ["k4", "8"] && coming(after: 8) == ["k1", "8"])
    #expect(try ledger.remotesToCome(at: "e", .upload, after: 0, limit: 100).paths.isEmpty)
    let only = try ledger.rows(of: .only(IDPattern("t3")), continuing: nil) { _ in }
    _ = try ledger.startRun(id: "01A", overrides: [:], selecting: only, at: 1)
    #expect(try coming(after: 0) == ["k3", "3"], "of a run that was asked for some, these")
  }
}
