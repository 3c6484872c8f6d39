import JobLedger
import JobModel
import Testing

@testable import Reporting

@Suite struct StandingTests {
  @Test func `standing counts what is there of what may complete`() async throws {
    let job = try await SampleJob(withRunning: true)
    let standing = try job.ledger.standing()
    #expect(standing.counts == (try job.ledger.counts()))
    #expect(standing.pausedReasons == ["retries": 1, "user": 1])
    // done 1200, same 1000, slow and held 1000 each, moving 1000; waiting has no size.
    #expect(standing.plannedBytes == 5200 && standing.unknownSizes == 1)
    #expect(standing.doneBytes == 2200 && standing.retries == 9)
    #expect(standing.recordedBytes == 0)
    // Two chunks of the one in flight and one of a paused one, wherever they lie.
    let writer = LedgerWriter(job.ledger) { _ in }
    for (seq, offset) in [(Int64(10), Int64(512)), (10, 128), (4, 640)] {
      writer.submit(
        .chunk(seq: seq, ChunkRecord(offset: offset, length: 128, digest: "d", receipt: nil, attempts: 1)))
    }
    try await writer.barrier()
    try writer.close()
    let later = try job.ledger.standing()
    #expect(later.recordedBytes == 256 && later.doneBytes == 2328)
  }

  @Test func `failures come first among what needs attention`() async throws {
    let job = try await SampleJob()
    let list = try CauseList(job.ledger, try job.ledger.counts(), describe: SampleJob.wire)
    #expect(list.groups.map(\.tally.ids) == [["broken"], ["orphan"], ["slow"], ["held"], ["waiting"]])
    #expect(list.total == 5)
    #expect(
      list.groups.map(\.tally.cause.code) == ["INTEGRITY_MISMATCH", "", "TIMEOUT", "", ""])
    func ids(_ attention: Attention) throws -> [[String]] {
      try CauseList(job.ledger, try job.ledger.counts(), of: attention, describe: SampleJob.wire)
        .groups.map(\.tally.ids)
    }
    #expect(try ids(.failures) == [["broken"], ["orphan"], ["slow"]])
    #expect(try ids(.retries) == [["slow"]])
  }
}
