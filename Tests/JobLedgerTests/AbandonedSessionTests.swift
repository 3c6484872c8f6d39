import JobLedger
import JobModel
import Testing

struct AbandonedSessionTests {
  @Test func staysOnRecordUntilItIsEnded() async throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    let settings = TransferSettings(direction: .upload)
    try ledger.compile([
      Entry(id: "a", destination: "s3:a", settings: settings),
      Entry(id: "b", destination: "s3:b", identity: 2, settings: settings),
    ])
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    let old = RemoteSession(id: "u\"1/é", chunkSize: 5, facts: ["k": "v"])
    let other = RemoteSession(id: "u2", chunkSize: 5)
    var progress = TransferProgress()
    progress.session = other
    progress.contiguousBytes = 7
    writer.submit(.progress(seq: 1, progress))
    for session in [old, old, other] { writer.submit(.abandoned(seq: 1, session)) }
    writer.submit(.abandoned(seq: 2, other))
    try await writer.barrier()
    let left = try ledger.retired()
    #expect(left.map(\.progress.session) == [old, other, other])
    #expect(left.map(\.id) == ["a", "a", "b"] && left.map(\.destination.text) == ["s3:a", "s3:a", "s3:b"])
    #expect(left.allSatisfy { $0.settings == settings && $0.progress.source == nil })
    // The transfer itself is as it was, and a plan that is compiled again brings none of them back.
    #expect(try ledger.all().map(\.seq) == [1, 2])
    try ledger.compile([Entry(id: "a", destination: "s3:a", settings: settings)])
    #expect(try ledger.transfer(1)?.progress == progress)
    #expect(try ledger.retired().map(\.id) == ["b", "a", "a", "b"])
    writer.submit(.ended(seq: 1, other))
    try await writer.barrier()
    #expect(try ledger.retired().compactMap(\.progress.session) == [old, other])
    #expect(try ledger.transfer(1)?.progress == progress)
    writer.submit(.removed(seq: left[0].seq))
    try await writer.barrier()
    #expect(try ledger.retired().map(\.id) == ["b", "b"])
    try writer.close()
  }
}
