import JobLedger
import JobModel
import LocalFiles
import Testing

@testable import Transfers

/// How a verified file gets its name: the intent first, then the rename, and nothing of anybody else's replaced.
struct PromotionTests {
  /// Stages the bytes, in a part file or in memory, and promotes them.
  private func promote(_ bench: DownloadBench, inMemory: Bool, own: FileFacts? = nil) async throws
    -> FileFacts
  {
    let file = try bench.destination()
    var staged = StagedFile()
    if inMemory {
      try staged.hold(size: 3, [])
      try [UInt8]([1, 2, 3]).withUnsafeBytes { bytes in try #require(staged.held).append(bytes) }
    } else {
      let part = try file.makingPart()
      try [UInt8]([1, 2, 3]).withUnsafeBytes { bytes in try part.file.write(bytes, at: 0) }
      staged.resume(part)
    }
    let facts = try await Promotion(
      record: bench.record, destination: file, staged: staged, own: own, time: 1_600_000_000_000_000_000,
      mode: nil
    ).run()
    if let made = staged.takeMade() { bench.record.note(.intended(made)) }
    return facts
  }

  @Test(arguments: [true, false]) func theFileIsThere(inMemory: Bool) async throws {
    let bench = try DownloadBench(change: { $0.mode = 0o640 })
    let facts = try await promote(bench, inMemory: inMemory)
    #expect(bench.read("out/a") == [1, 2, 3] && bench.names == ["a"])
    #expect(facts.size == 3 && facts.mtime == 1_600_000_000_000_000_000)
    #expect(bench.record.progress.intendedInode == facts.inode)
    #expect(
      try bench.context.run.ledger.transfer(1)?.progress.intendedInode == facts.inode, "it is on record")
  }

  @Test(arguments: [true, false]) func aStrangerIsKept(inMemory: Bool) async throws {
    let bench = try DownloadBench(change: { $0.ifExists = .fail })
    try bench.write("out/a", [9])
    let failure = await #expect(throws: Failure.self) { _ = try await promote(bench, inMemory: inMemory) }
    #expect(failure?.code == .destinationExists && bench.read("out/a") == [9])
  }

  @Test func itsOwnFileIsReplaced() async throws {
    let bench = try DownloadBench(change: { $0.ifExists = .fail })
    try bench.write("out/a", [9])
    let own = try bench.destination().present()
    _ = try await promote(bench, inMemory: false, own: own)
    #expect(bench.read("out/a") == [1, 2, 3])
  }

  /// Two parts may be given one name by a server; what other files are there may be replaced.
  @Test(arguments: [true, false]) func whatAnotherPartWroteIsKept(isAnothers: Bool) async throws {
    let bench = try DownloadBench(to: "out/", ownerElsewhere: { _ in isAnothers ? "other" : nil })
    try bench.write("out/a", [9])
    do {
      _ = try await promote(bench, inMemory: false)
      #expect(!isAnothers && bench.read("out/a") == [1, 2, 3])
    } catch let failure as Failure {
      #expect(isAnothers && failure.code == .destinationExists && failure.message.contains("`other`"))
      #expect(bench.read("out/a") == [9])
    }
  }

  @Test func aPartFileThatWasReplacedIsNotPromoted() async throws {
    let bench = try DownloadBench()
    let file = try bench.destination()
    let part = try file.makingPart()
    file.folder.remove(part.name)
    try bench.write("out/" + part.name, [6])
    var staged = StagedFile()
    staged.resume(part)
    let failure = await #expect(throws: Failure.self) {
      _ = try await Promotion(
        record: bench.record, destination: file, staged: staged, own: nil, time: nil, mode: nil
      )
      .run()
    }
    #expect(failure?.code == .ioError && bench.read("out/a") == nil)
  }
}
