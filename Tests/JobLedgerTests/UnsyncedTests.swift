import JobModel
import SQLite
import Testing

@testable import JobLedger

/// What is complete and not known to be on the disk.
struct UnsyncedTests {
  private func ledger(_ folder: TemporaryFolder) async throws -> (JobLedger, LedgerWriter) {
    let ledger = try folder.ledger()
    try ledger.compile(["a", "b", "c", "d", "e"].map { Entry(id: $0) })
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    func add(_ seq: Int64, _ state: TransferState, boot: String, completedAt: Double?) {
      var progress = TransferProgress()
      progress.completedAt = completedAt
      progress.bootID = boot
      progress.destination = FileFacts(size: 1, mtime: 2, ctime: 3, inode: UInt64.max - UInt64(seq))
      writer.submit(.progress(seq: seq, progress))
      writer.submit(.state(seq: seq, state))
    }
    add(1, .completed, boot: "now", completedAt: 0.1 + 0.2)
    add(2, .upToDate(.adopted), boot: "now", completedAt: 7)
    add(3, .completed, boot: "before", completedAt: 7)
    add(4, .running, boot: "now", completedAt: nil)
    add(5, .queued(nil), boot: "now", completedAt: 7)
    try await writer.barrier()
    return (ledger, writer)
  }

  @Test func onlyWhatThisBootCompleted() async throws {
    let folder = TemporaryFolder()
    let (ledger, writer) = try await ledger(folder)
    let found = try ledger.unsynced(boot: "now", limit: 10)
    #expect(found.map(\.id) == ["a", "b"] && found.map(\.state) == [.completed, .upToDate(.adopted)])
    #expect(found.map(\.inode) == [.max - 1, .max - 2])
    #expect(try ledger.unsyncedCount(boot: "now") == 2 && ledger.unsynced(boot: "now", limit: 1).count == 1)
    writer.submit(.synced(found))
    try writer.close()
    #expect(try ledger.unsyncedCount(boot: "now") == 0 && ledger.unsyncedCount(boot: "before") == 1)
    #expect(try ledger.transfer(1)?.progress.isSynced == true && ledger.transfer(1)?.progress.bootID == nil)
  }

  /// Another part's ledger is read while its runner has it open.
  @Test func aFilesOwnerIsFoundFromOutside() async throws {
    let folder = TemporaryFolder()
    let (ledger, writer) = try await ledger(folder)
    func owner(_ size: Int64, _ seq: UInt64, in path: String) -> String? {
      JobLedger.owner(
        of: FileFacts(size: size, mtime: 2, ctime: 9, inode: UInt64.max - seq), recordedIn: path)
    }
    let path = folder.path
    #expect(owner(1, 2, in: path) == "b" && owner(7, 2, in: path) == nil && owner(1, 9, in: path) == nil)
    #expect(owner(1, 4, in: path) == "d", "its own until it is replaced")
    #expect(owner(1, 77, in: path) == nil)
    for (completedAt, name) in [(nil, "e"), (9, nil)] as [(Double?, String?)] {
      var renamed = TransferProgress()
      (renamed.intendedInode, renamed.size, renamed.completedAt) = (UInt64.max - 77, 1, completedAt)
      writer.submit(.progress(seq: 5, renamed))
      try await writer.barrier()
      #expect(owner(1, 77, in: path) == name && owner(2, 77, in: path) == nil, "renamed, and not on record")
    }
    // A part that an older haul compiled last has no index of its intents: they are not looked for.
    var renamed = TransferProgress()
    (renamed.intendedInode, renamed.size) = (UInt64.max - 77, 1)
    writer.submit(.progress(seq: 5, renamed))
    try await writer.barrier()
    try ledger.write { db in try db.execute(sql: "DROP INDEX progress_intended") }
    #expect(owner(1, 77, in: path) == nil && owner(1, 2, in: path) == "b")
    try ledger.setMeta("manifest", "job.yaml")
    #expect(JobLedger.meta("manifest", recordedIn: path) == "job.yaml")
    #expect(JobLedger.meta("none", recordedIn: path) == nil)
    let absent = path + "/absent"
    #expect(owner(1, 2, in: absent) == nil && JobLedger.meta("manifest", recordedIn: absent) == nil)
    try writer.close()
  }

  @Test func whatIsFoundOutCountsForThatCompletionAlone() async throws {
    let folder = TemporaryFolder()
    let (ledger, writer) = try await ledger(folder)
    let found = try ledger.unsynced(boot: "now", limit: 10)
    var later = try #require(try ledger.transfer(1)?.progress)
    later.completedAt = 9
    writer.submit(.progress(seq: 1, later))
    writer.submit(.synced([found[0]]))
    writer.submit(.gone(found[0]))
    writer.submit(.unsyncable(found[0], .failed, Failure(.ioError, "no"), at: 10))
    try await writer.barrier()
    #expect(try ledger.transfer(1)?.progress == later && ledger.transfer(1)?.state == .completed)
    try writer.close()
  }

  /// Whichever of two syncs is recorded first.
  @Test(arguments: [true, false]) func whatOneSyncLostNoOtherSyncProves(_ isLostFirst: Bool) async throws {
    let folder = TemporaryFolder()
    let (ledger, writer) = try await ledger(folder)
    let found = try ledger.unsynced(boot: "now", limit: 10)
    let lost = LedgerChange.unsyncable(found[0], .failed, Failure(.ioError, "no"), at: 10)
    for change in isLostFirst ? [lost, .synced(found)] : [.synced(found), lost] { writer.submit(change) }
    try writer.close()
    let transfer = try #require(try ledger.transfer(1))
    #expect(transfer.state == .failed && transfer.progress.bootID == TransferProgress.noBoot)
    #expect(try ledger.transfer(2)?.progress.isSynced == true && !transfer.progress.isSynced)
  }

  @Test func whatCanNotBeSyncedKeepsItsRecordAndLosesItsBoot() async throws {
    let folder = TemporaryFolder()
    let (ledger, writer) = try await ledger(folder)
    let found = try ledger.unsynced(boot: "now", limit: 10)
    writer.submit(.gone(found[0]))
    writer.submit(.unsyncable(found[1], .paused(.disk), Failure(.diskFull, "full"), at: 10))
    try writer.close()
    #expect(try ledger.unsyncedCount(boot: "now") == 0)
    let (gone, lost) = (try #require(try ledger.transfer(1)), try #require(try ledger.transfer(2)))
    #expect(gone.state == .completed && gone.progress.bootID == nil && !gone.progress.isSynced)
    #expect(lost.state == .paused(.disk) && lost.progress.bootID == TransferProgress.noBoot)
    #expect(lost.progress.failure == Failure(.diskFull, "full") && lost.progress.failedAt == 10)
    #expect(lost.progress.completedAt == 7 && lost.progress.destination?.inode == .max - 2)
  }
}
