import Foundation
import JobLedger
import JobModel
import Testing

struct CompileTests {
  private struct Broken: Error {}

  /// A ledger with one transfer that has some progress, in a state.
  private func started(_ folder: TemporaryFolder, _ state: TransferState) async throws -> (
    JobLedger, LedgerWriter
  ) {
    let ledger = try folder.ledger()
    try ledger.compile([Entry(id: "a"), Entry(id: "b", identity: 2)])
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    var progress = TransferProgress()
    progress.contiguousBytes = 77
    writer.submit(.progress(seq: 1, progress))
    writer.submit(.chunk(seq: 1, ChunkRecord(offset: 0, length: 77, digest: "d")))
    writer.submit(.state(seq: 1, state))
    try await writer.barrier()
    return (ledger, writer)
  }

  private func progressIsKept(_ ledger: JobLedger) throws -> Bool {
    guard let transfer = try ledger.transfer(1) else { return false }
    return try transfer.progress.contiguousBytes == 77 && ledger.chunks(of: 1).count == 1
  }

  @Test func theSameAgainChangesNothing() async throws {
    let folder = TemporaryFolder()
    let (ledger, _) = try await started(folder, .paused(.retries))
    let change = try ledger.compile([Entry(id: "a"), Entry(id: "b", identity: 2)])
    #expect(change.kept == 2 && change.added == 0 && change.adjusted == 0 && change.retired == 0)
    #expect(try progressIsKept(ledger))
    #expect(try ledger.transfer(1)?.state == .paused(.retries))
  }

  @Test func anotherKnownSizeIsTold() async throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    func entries(_ sizes: Int64?...) -> [Entry] {
      sizes.enumerated().map { index, size in
        Entry(id: "t\(index)", identity: UInt8(index + 1), knownSize: size)
      }
    }
    try ledger.compile(entries(3, 3, 3, nil))
    let change = try ledger.compile(entries(3, 22, nil, 5))
    let rows = (Int64(1)...4).filter { change.resizedRows.contains($0) }
    #expect(rows == [2])
    #expect(change.kept == 4 && change.adjusted == 0)
  }

  @Test func otherSettingsAdjustAndKeepTheProgress() async throws {
    for (state, after) in [
      (.failed, .queued(nil)), (.skipped(.exists), .queued(nil)), (.completed, .completed),
      (.upToDate(nil), .upToDate(nil)), (.paused(.user), .paused(.user)), (.canceled, .canceled),
      (.queued(nil), .queued(nil)),
    ] as [(TransferState, TransferState)] {
      let folder = TemporaryFolder()
      let (ledger, _) = try await started(folder, state)
      var entry = Entry(id: "a")
      entry.settings.verify = .required
      let change = try ledger.compile([entry, Entry(id: "b", identity: 2)])
      #expect(change.adjusted == 1 && change.kept == 1 && change.retired == 0)
      let transfer = try #require(try ledger.transfer(1))
      #expect(transfer.state == after && transfer.settings.verify == .required)
      #expect(try progressIsKept(ledger))
    }
  }

  @Test func anotherExpectationReopensWhatWasComplete() async throws {
    let folder = TemporaryFolder()
    let (ledger, _) = try await started(folder, .completed)
    try ledger.compile([Entry(id: "a", expect: Expectation(size: 5)), Entry(id: "b", identity: 2)])
    #expect(try ledger.transfer(1)?.state == .queued(nil))
    #expect(try ledger.transfer(1)?.expect == Expectation(size: 5))
    #expect(try progressIsKept(ledger))
  }

  @Test func disabledAndEnabledAgain() async throws {
    let folder = TemporaryFolder()
    let (ledger, _) = try await started(folder, .paused(.retries))
    var off = Entry(id: "a")
    off.settings.isEnabled = false
    try ledger.compile([off, Entry(id: "b", identity: 2)])
    #expect(try ledger.transfer(1)?.state == .skipped(.disabled))
    try ledger.compile([Entry(id: "a"), Entry(id: "b", identity: 2)])
    #expect(try ledger.transfer(1)?.state == .queued(nil))
    #expect(try progressIsKept(ledger))
  }

  @Test func retiredAndAddedAgainKeepsProgress() async throws {
    let folder = TemporaryFolder()
    let (ledger, writer) = try await started(folder, .paused(.retries))
    #expect(try ledger.compile([Entry(id: "b", identity: 2)]).retired == 1)
    #expect(try ledger.all().map(\.id) == ["b"] && ledger.retired().map(\.id) == ["a"])
    #expect(try ledger.counts().total == 1)
    let change = try ledger.compile([Entry(id: "a"), Entry(id: "b", identity: 2)])
    #expect(change.added == 0 && change.retired == 0)
    #expect(try ledger.retired().isEmpty && progressIsKept(ledger))
    // Gone for good once the engine has cleared it, with all that hung on it.
    try ledger.compile([Entry(id: "b", identity: 2)])
    writer.submit(.removed(seq: 1))
    try await writer.barrier()
    #expect(try ledger.retired().isEmpty && ledger.chunks(of: 1).isEmpty)
    #expect(try ledger.compile([Entry(id: "a"), Entry(id: "b", identity: 2)]).added == 1)
  }

  @Test func anotherIdentityIsAnotherTransfer() async throws {
    let folder = TemporaryFolder()
    let (ledger, _) = try await started(folder, .completed)
    let change = try ledger.compile([Entry(id: "a", identity: 9), Entry(id: "b", identity: 2)])
    #expect(change.added == 1 && change.retired == 1 && change.kept == 1)
    let fresh = try #require(try ledger.all().first { $0.id == "a" })
    #expect(fresh.seq != 1 && fresh.state == .queued(nil) && fresh.progress == TransferProgress())
  }

  /// It is the id that a user paused; what was paused long ago and resumed under it is forgotten.
  @Test func aUsersPauseIsTheIDs() async throws {
    let folder = TemporaryFolder()
    let (ledger, writer) = try await started(folder, .paused(.user))
    let others = [Entry(id: "a", identity: 9), Entry(id: "b", identity: 2)]
    try ledger.compile(others)
    let paused = try #require(try ledger.all().first { $0.id == "a" })
    #expect(paused.seq != 1 && paused.state == .paused(.user))
    writer.submit(.state(seq: paused.seq, .queued(nil)))
    try await writer.barrier()
    try ledger.compile([Entry(id: "a", identity: 10), Entry(id: "b", identity: 2)])
    #expect(try ledger.all().map(\.state) == [.queued(nil), .queued(nil)])
  }

  @Test func aPlanThatFailsLeavesTheOldOne() async throws {
    let folder = TemporaryFolder()
    let (ledger, _) = try await started(folder, .completed)
    #expect(throws: Broken.self) {
      try ledger.compile { add in
        try add(Entry(id: "new", identity: 7).planned, [UInt8](repeating: 7, count: 8))
        throw Broken()
      }
    }
    #expect(try ledger.all().map(\.id) == ["a", "b"] && progressIsKept(ledger))
  }

  /// Rows of a batch share what is bound: none may keep a value of the one before.
  @Test(arguments: [false, true])
  func rowsOfABatchKeepTheirOwn(_ isLater: Bool) throws {
    var off = TransferSettings(direction: .download)
    off.isEnabled = false
    let hex = String(repeating: "0a", count: 32)
    let entries = [
      Entry(id: "a", destination: "ü/1", expect: Expectation(digests: [.sha256: hex]), knownSize: 7),
      Entry(id: "b", destination: "o/2"),
      Entry(id: "c", expect: Expectation(size: 5, type: "application/pdf"), settings: off),
      Entry(id: "d", expect: Expectation(digests: [.sha256: hex, .md5: "ab"], size: 0), knownSize: 0),
      Entry(id: "e", source: "s3:x y\"z", expect: Expectation(digests: [.md5: "\"\u{1}"])),
    ]
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    // A plan that has rows already is changed row by row.
    if isLater { try ledger.compile([Entry(id: "z")]) }
    let change = try ledger.compile(batches: { add in
      var batch = PlanBatch()
      for (index, entry) in entries.enumerated() {
        var planned = entry.planned
        planned.takesSourceName = index == 3
        planned.settingsGroup = index == 2 ? nil : 1
        batch.append(planned, identity: [UInt8](repeating: UInt8(index), count: 8))
      }
      try add(batch)
    })
    #expect(change.added == entries.count && change.retired == (isLater ? 1 : 0))
    let stored = try ledger.all().filter { $0.id != "z" }
    #expect(stored.map(\.id) == entries.map(\.id))
    #expect(stored.map(\.source.text) == entries.map(\.source))
    #expect(stored.map(\.destination.text) == entries.map(\.destination))
    #expect(stored.map(\.expect) == entries.map(\.expect))
    #expect(stored.map(\.knownSize) == entries.map(\.knownSize))
    #expect(stored.map(\.settings) == entries.map(\.settings))
    #expect(stored.map(\.takesSourceName) == [false, false, false, true, false])
    #expect(
      stored.map(\.state) == [.queued(nil), .queued(nil), .skipped(.disabled), .queued(nil), .queued(nil)])
  }

  @Test func aLongPlanIsSmall() throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    let count = 100_000
    let base = "https://files.example.net/archive/2024/" + String(repeating: "x", count: 20)
    let change = try ledger.compile { add in
      for index in 0..<count {
        let number = String(index + 1_000_000)
        let entry = Entry(
          id: "photos/\(number)", source: base + "/" + number,
          destination: "photos/\(number.suffix(2))/\(String(repeating: "y", count: 30))\(number).jpg")
        try add(entry.planned, withUnsafeBytes(of: UInt64(index)) { Array($0) })
      }
    }
    #expect(change.added == count)
    try ledger.checkpoint()
    let facts = try FileManager.default.attributesOfItem(atPath: folder.database)
    let bytes = ((facts[.size] as? NSNumber)?.intValue ?? 0) / count
    print("plan.sqlite: \(bytes) bytes a transfer")
    #expect(bytes > 100 && bytes < 400)
  }
}
