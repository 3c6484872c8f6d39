import JobLedger
import JobModel
import Testing

/// Whose a file is that a download put in its place before it left the manifest.
struct WrittenFileTests {
  private static let file = FileFacts(size: 1, mtime: 2_000_000_000, ctime: 3, inode: UInt64.max - 7)

  /// The ledger of a job whose transfer left with this progress, and was cleared away.
  private func ledger(
    _ folder: TemporaryFolder, _ progress: TransferProgress, _ direction: Verb = .download
  ) async throws -> JobLedger {
    let ledger = try folder.ledger()
    let stays = Entry(id: "b", identity: 2)
    try ledger.compile([Entry(id: "a", settings: TransferSettings(direction: direction)), stays])
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    writer.submit(.progress(seq: 1, progress))
    try await writer.barrier()
    #expect(try !ledger.wrote(Self.file, at: "out/a"), "it has not left yet")
    try ledger.compile([stays])
    writer.submit(.removed(seq: 1))
    try writer.close()
    return ledger
  }

  @Test(arguments: [nil, 1.0]) func asItIsOnRecord(_ completedAt: Double?) async throws {
    let folder = TemporaryFolder()
    var progress = TransferProgress()
    (progress.completedAt, progress.destination) = (completedAt, Self.file)
    let ledger = try await ledger(folder, progress)
    #expect(try ledger.wrote(Self.file, at: "out/a") && !ledger.wrote(Self.file, at: "out/b"))
    let changes: [(inout FileFacts) -> Void] = [
      { $0.size = 2 }, { $0.inode = 7 }, { $0.mtime += 1 }, { $0.mtime -= 1 },
    ]
    for change in changes {
      var other = Self.file
      change(&other)
      #expect(try !ledger.wrote(other, at: "out/a"), "\(other)")
    }
  }

  @Test func underTheNameThatTheServerGave() async throws {
    let folder = TemporaryFolder()
    var progress = TransferProgress()
    (progress.destination, progress.resolvedDestination) = (Self.file, "out/given")
    let ledger = try await ledger(folder, progress)
    #expect(try ledger.wrote(Self.file, at: "out/given") && !ledger.wrote(Self.file, at: "out/a"))
  }

  /// Killed between the rename and its record: changed since then, it is somebody else's.
  @Test(arguments: [(nil, 0, true), (nil, 1, false), (5, 0, false)] as [(Double?, Int64, Bool)])
  func renamedAndNotOnRecord(_ completedAt: Double?, _ later: Int64, _ isOwn: Bool) async throws {
    let folder = TemporaryFolder()
    var progress = TransferProgress()
    (progress.intendedInode, progress.size, progress.updatedAt) = (Self.file.inode, 1, 2.5)
    progress.completedAt = completedAt
    let ledger = try await ledger(folder, progress)
    var present = Self.file
    present.mtime += later * 1_000_000_000
    #expect(try ledger.wrote(present, at: "out/a") == isOwn)
  }

  @Test func whatAnUploadKnowsIsNoDestination() async throws {
    let folder = TemporaryFolder()
    var progress = TransferProgress()
    (progress.completedAt, progress.destination) = (1, Self.file)
    #expect(try await !ledger(folder, progress, .upload).wrote(Self.file, at: "out/a"))
  }

  /// It is on record as its own once more.
  @Test func oneThatComesBack() async throws {
    let folder = TemporaryFolder()
    var progress = TransferProgress()
    (progress.completedAt, progress.destination) = (1, Self.file)
    let ledger = try await ledger(folder, progress)
    try ledger.compile([Entry(id: "new", identity: 3), Entry(id: "b", identity: 2)])
    #expect(try ledger.wrote(Self.file, at: "out/a") && ledger.owner(of: Self.file, besides: 0) == nil)
  }
}
