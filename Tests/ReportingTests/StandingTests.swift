import JobLedger
import Testing

@Suite struct StandingTests {
  @Test func `standing counts what is there of what may complete`() async throws {
    let job = try await SampleJob(withRunning: true)
    let standing = try job.ledger.standing()
    #expect(standing.counts == (try job.ledger.counts()))
    #expect(standing.pausedReasons == ["retries": 1, "user": 1])
    // done 1200, same 1000, slow and held 1000 each, moving 1000; waiting has no size.
    #expect(standing.plannedBytes == 5200 && standing.unknownSizes == 1)
    #expect(standing.doneBytes == 2200 && standing.retries == 9)
  }

  @Test func `failures come first among what needs attention`() async throws {
    let job = try await SampleJob()
    #expect(try job.ledger.needingAttention(limit: 9).map(\.id) == ["broken", "orphan", "slow", "held"])
    #expect(try job.ledger.needingAttention(limit: 2).map(\.id) == ["broken", "orphan"])
  }
}
