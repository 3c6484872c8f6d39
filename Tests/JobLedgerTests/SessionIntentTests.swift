import JobLedger
import JobModel
import Testing

/// Sessions that were asked for without an answer, by the times at which they were.
struct SessionIntentTests {
  private func intent(_ key: String, at askedAt: Double?, last: Double? = nil) -> SessionIntent {
    SessionIntent(
      key: key, size: 10, contentType: "text/plain", chunkSize: 5, askedAt: askedAt, lastAskedAt: last)
  }

  /// A folder whose ledger has two uploads.
  private func open() throws -> (TemporaryFolder, JobLedger, LedgerWriter) {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    let settings = TransferSettings(direction: .upload)
    try ledger.compile([
      Entry(id: "a", destination: "s3:a", settings: settings),
      Entry(id: "b", destination: "s3:b", identity: 2, settings: settings),
    ])
    return (folder, ledger, LedgerWriter(ledger) { Issue.record("\($0)") })
  }

  @Test func eachTimeIsOnRecordUntilItWasLookedFor() async throws {
    let (folder, ledger, writer) = try open()
    let (first, second) = (intent("k", at: 100), intent("k", at: 200))
    writer.submit(.intent(seq: 1, first))
    writer.submit(.intent(seq: 1, second))
    writer.submit(.intent(seq: 2, first))
    try await writer.barrier()
    #expect(try ledger.intents(of: 1) == [first, second] && ledger.intended() == [1: 2, 2: 1])
    let longer = intent("k", at: 200, last: 260)
    writer.submit(.intent(seq: 1, longer))
    writer.submit(.answered(seq: 1, first))
    try await writer.barrier()
    #expect(try ledger.intents(of: 1) == [longer] && ledger.intents(of: 2) == [first])
    try writer.close()
    withExtendedLifetime(folder) {}
  }

  @Test func aKeyIsOnRecordOnce() async throws {
    let (folder, ledger, writer) = try open()
    let (old, new) = (intent("old", at: nil), intent("new", at: nil))
    writer.submit(.intent(seq: 1, old))
    writer.submit(.intent(seq: 1, new))
    // It is not what is on record any more.
    writer.submit(.answered(seq: 1, old))
    try await writer.barrier()
    #expect(try ledger.intents(of: 1) == [new])
    writer.submit(.answered(seq: 1, new))
    try await writer.barrier()
    #expect(try ledger.intents(of: 1) == [])
    try writer.close()
    withExtendedLifetime(folder) {}
  }

  @Test func goesWithWhatIsHandedOver() async throws {
    let (folder, ledger, writer) = try open()
    writer.submit(.intent(seq: 1, intent("k", at: 100)))
    try await writer.barrier()
    try ledger.handOver(from: 1, to: 2)
    writer.submit(.removed(seq: 1))
    try await writer.barrier()
    #expect(try ledger.intents(of: 2) == [intent("k", at: 100)])
    try writer.close()
    withExtendedLifetime(folder) {}
  }

  /// One asking for each key: the successor's own stays.
  @Test func whatASuccessorAskedForStays() async throws {
    let (folder, ledger, writer) = try open()
    writer.submit(.intent(seq: 1, intent("old", at: nil)))
    writer.submit(.intent(seq: 2, intent("own", at: nil)))
    try await writer.barrier()
    try ledger.handOver(from: 1, to: 2)
    #expect(try ledger.intents(of: 2) == [intent("own", at: nil)])
    try writer.close()
    withExtendedLifetime(folder) {}
  }

  /// A clock that is set back between two tries makes no span that ends before it begins.
  @Test func theLastTryIsNeverBeforeTheFirst() async throws {
    let (folder, ledger, writer) = try open()
    #expect(intent("k", at: 1000, last: 500).lastAskedAt == 1000)
    var asked = intent("k", at: 1000)
    asked.askedAgain(at: 900)
    #expect(asked.lastAskedAt == 1000)
    asked.askedAgain(at: 1100)
    #expect(asked.lastAskedAt == 1100)
    writer.submit(.intent(seq: 1, asked))
    try await writer.barrier()
    #expect(try ledger.intents(of: 1) == [asked])
    try writer.close()
    withExtendedLifetime(folder) {}
  }
}
