import Foundation
import JobModel
import TestSupport
import Testing

@testable import LocalFiles

struct SnapshotTests {
  @Test func aCopyIsWholeAndPrivate() throws {
    let scratch = try Scratch()
    var random = SeededRandom(7)
    let bytes = (0..<300_000).map { _ in UInt8.random(in: .min ... .max, using: &random) }
    let source = try OpenFile.reading(
      scratch.write("a", String(decoding: bytes.map { $0 & 0x7F }, as: UTF8.self)))
    let target = scratch.path + "/copy"
    try Snapshot.make(source, .copy, at: target)
    let copy = try OpenFile.reading(target)
    let size = try source.facts().size
    #expect(
      try copy.facts().size == size
        && (FileManager.default.attributesOfItem(atPath: target)[.posixPermissions] as? Int) == 0o600)
    #expect(try copy.bytes(at: 0, count: Int(size)) == source.bytes(at: 0, count: Int(size)))
    // One that was begun and never finished is written over.
    try scratch.write("copy.tmp", "half")
    try Snapshot.make(source, .copy, at: target)
    #expect(try OpenFile.reading(target).facts().size == size)
  }

  /// A source that is written all the time gives no picture that never was; one that only grows gives what it had.
  @Test(arguments: [true, false]) func aSourceThatIsWrittenMeanwhile(_ grows: Bool) async throws {
    let scratch = try Scratch()
    let path = try scratch.write("a", String(repeating: "0", count: 4 << 20))
    let (source, target) = (try OpenFile.reading(path), scratch.path + "/copy")
    let writer = Task.detached {
      let file = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
      var round = UInt8(ascii: "1")
      while !Task.isCancelled {
        try file.seek(toOffset: grows ? file.seekToEnd() : 0)
        try file.write(contentsOf: Data(repeating: round, count: grows ? 100 : 4 << 20))
        round = round == UInt8(ascii: "9") ? UInt8(ascii: "0") : round + 1
        await Task.yield()
      }
    }
    defer { writer.cancel() }
    try await Task.sleep(for: .milliseconds(50))
    do {
      try Snapshot.make(source, .copy, at: target)
      let bytes = try Data(contentsOf: URL(fileURLWithPath: target)).prefix(4 << 20)
      #expect(bytes.allSatisfy { $0 == bytes[0] })
    } catch let failure as Failure {
      #expect(!grows && failure.code == .sourceChanged)
      #expect(!FileManager.default.fileExists(atPath: target + ".tmp"))
    }
  }

  @Test func noFolderNoCopy() throws {
    let scratch = try Scratch()
    let source = try OpenFile.reading(scratch.write("a", "a"))
    #expect(throws: Failure.self) { try Snapshot.make(source, .copy, at: scratch.path + "/none/copy") }
  }

  @Test func foldersAreKnownByTheirInode() throws {
    let scratch = try Scratch()
    let (one, two) = (try Folder.open(scratch.folder("one")), try Folder.open(scratch.folder("two")))
    #expect(one.identity == (try Folder.open(scratch.path + "/one/../one")).identity)
    #expect(one.identity != two.identity)
  }
}
