import Digests
import Foundation
import JobModel
import TestSupport
import Testing

@testable import LocalFiles

/// Part files and folders: names that fit, and never a way out.
struct FileTests {
  private final class Place: Sendable {
    let path = FileManager.default.temporaryDirectory.path + "/haul-files-" + UUID().uuidString
    init() throws {
      for name in ["/in/sub", "/out"] {
        try FileManager.default.createDirectory(atPath: path + name, withIntermediateDirectories: true)
      }
    }
    deinit { try? FileManager.default.removeItem(atPath: path) }
    func link(_ name: String, _ target: String) throws {
      try FileManager.default.createSymbolicLink(atPath: path + "/in/" + name, withDestinationPath: target)
    }
    var outside: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path + "/out")) ?? ["?"] }
  }

  private func bytes(_ count: Int, seed: Int = 0) -> [UInt8] {
    var random = SeededRandom(UInt64(seed))
    return (0..<count).map { _ in .random(in: .min ... .max, using: &random) }
  }

  private func code(_ body: () throws -> Void) -> ErrorCode? {
    do { try body() } catch { return (error as? Failure)?.code ?? .internal }
    return nil
  }

  @Test(arguments: [
    ("a/b.c/report.pdf", "application/pdf"), ("REPORT.PDF", "application/pdf"),
    ("a.tar.gz", "application/gzip"),
    ("漢.Json", "application/json"), ("report\u{600}.pdf", "application/pdf"), ("a/.txt", nil),
    ("a.txt/b", nil),
    ("a.", nil), ("a", nil), ("", nil), (".", nil), ("a.\u{301}pdf", nil),
  ])
  func mediaTypesGoByTheExtension(_ path: String, _ type: String?) {
    #expect(ContentTypes.of(path) == type ?? "application/octet-stream")
  }

  @Test func partNamesFit() {
    for name in [
      "a", "", String(repeating: "x", count: 255), String(repeating: "漢", count: 85),
      String(repeating: "👨‍👩‍👧", count: 14),
    ] {
      let part = PartName.of(name, tag: "0123456789abcdef")
      #expect(part.utf8.count <= 255 && part.hasPrefix(".") && part.hasSuffix(".0123456789abcdef.haul-part"))
      #expect(!part.unicodeScalars.contains("\u{fffd}"), "a character was cut in two")
      if name.utf8.count < 200 { #expect(part == ".\(name).0123456789abcdef.haul-part") }
    }
  }

  /// Each has opened the folder for itself, as processes do.
  @Test func oneAtATimeIsAloneInAFolder() async throws {
    let place = try Place()
    let count = place.path + "/out/count"
    try Data("0".utf8).write(to: URL(fileURLWithPath: count))
    try await withThrowingTaskGroup(of: Void.self) { group in
      for _ in 0..<8 {
        let folder = try Folder.open(place.path + "/in")
        group.addTask {
          for _ in 0..<50 {
            try folder.alone {
              let text = try String(contentsOfFile: count, encoding: .utf8)
              try Data("\((Int(text) ?? 0) + 1)".utf8).write(to: URL(fileURLWithPath: count))
            }
          }
        }
      }
      try await group.waitForAll()
    }
    #expect(try String(contentsOfFile: count, encoding: .utf8) == "400")
  }

  @Test func pathsAreCutAtTheirLastSlashByte() {
    for (path, parent, name) in [
      ("a", "", "a"), ("d/a", "d", "a"), ("d/e/a", "d/e", "a"), ("/a", "/", "a"), ("/d/a", "/d", "a"),
      ("d/", "d", ""),
      ("d/\u{301}a", "d", "\u{301}a"), ("../\u{200d}a", "..", "\u{200d}a"),
    ] {
      let parts = PathParts(path)
      #expect(
        Array(parts.parent.utf8) == Array(parent.utf8) && Array(parts.name.utf8) == Array(name.utf8),
        "\(path)")
    }
  }

  @Test func makesFoldersAndStaysInside() throws {
    let place = try Place()
    try place.link("leaves", place.path + "/out")
    try place.link("climbs", "../out")
    try place.link("stays", "sub")
    try place.link("loop", "loop")
    try Data().write(to: URL(fileURLWithPath: place.path + "/in/file"))
    let folder = try Folder.open(place.path + "/in")
    for good in ["", "sub", "a/b/c", "sub/../sub/x", "stays/y", "./z", "d//e", "f/\u{301}g"] {
      #expect(code { _ = try folder.making(good, beneath: true) } == nil, "\(good)")
    }
    #expect(FileManager.default.fileExists(atPath: place.path + "/in/sub/y"))
    for bad in [
      "..", "../out", "../out/x", "leaves", "leaves/x", "climbs/x", "sub/../../out/x", "n/../../x",
      place.path + "/out/x", "leaves/\u{301}x",
    ] {
      #expect(code { _ = try folder.making(bad, beneath: true) } == .permissionDenied, "\(bad)")
    }
    #expect(code { _ = try folder.making("loop/x", beneath: true) } != nil)
    #expect(code { _ = try folder.making("file/x", beneath: true) } == .ioError)
    #expect(place.outside.isEmpty, "something was made outside: \(place.outside)")
    #expect(code { _ = try folder.making(place.path + "/out/x", beneath: false) } == nil)
    #expect(code { _ = try folder.making("leaves/y", beneath: false) } == nil)
    #expect(place.outside.sorted() == ["x", "y"])
  }

  @Test func noPartFileThroughALink() throws {
    let place = try Place()
    try place.link("p", place.path + "/out/victim")
    let folder = try Folder.open(place.path + "/in")
    #expect(code { _ = try folder.part("p", record: nil, tag: "") } == .ioError)
    #expect(place.outside.isEmpty)
    #expect(code { _ = try folder.part("sub", record: nil, tag: "") } == .ioError)
    for taken in ["p", "sub"] { #expect(try folder.makingPart(taken, tag: "") == nil) }
    guard case .nothing = try folder.part("none", record: nil, tag: "") else { return #expect(Bool(false)) }
    let file = try #require(try folder.makingPart("q", tag: "")).file
    let facts = try FileManager.default.attributesOfItem(atPath: place.path + "/in/q")
    #expect((facts[.posixPermissions] as? NSNumber)?.intValue == 0o600)
    #expect(try file.facts().size == 0)
    #expect(
      code { _ = try folder.facts("sub") } == .ioError && code { _ = try folder.facts("p") } == .ioError)
  }

  /// Who has a part file's name first does not get the bytes: the file is made anew, or under another name.
  @Test func aPartFileIsMadeAnew() throws {
    let place = try Place()
    let folder = try Folder.open(place.path + "/in")
    let tag = PartName.tag(7, key: "secret")
    #expect(
      tag.utf8.count == 16 && tag != PartName.tag(8, key: "secret") && tag != PartName.tag(7, key: "Secret"))
    let name = PartName.of("f", tag: tag)
    do {
      let other = try #require(try folder.makingPart(name, tag: tag))
      let made = try PartFile.making(in: folder, for: "f", tag: tag)
      #expect(made.name != name && other.isInPlace, "what is locked is somebody's")
    }
    // Left by a killed attempt: never gone on with unless it is on record.
    try Data("left".utf8).write(to: URL(fileURLWithPath: place.path + "/in/" + name))
    let reader = open(place.path + "/in/" + name, O_RDONLY)
    defer { close(reader) }
    let made = try PartFile.making(in: folder, for: "f", tag: tag)
    var status = stat()
    fstat(reader, &status)
    #expect(made.name == name && made.record.inode != UInt64(status.st_ino) && status.st_nlink == 0)
    for kind in ["link", "folder", "second name"] {
      let name = PartName.of(kind, tag: tag)
      switch kind {
      case "link": try place.link(name, place.path + "/out/victim")
      case "folder": mkdir(place.path + "/in/" + name, 0o700)
      default:
        try Data("precious".utf8).write(to: URL(fileURLWithPath: place.path + "/in/precious"))
        try #require(link(place.path + "/in/precious", place.path + "/in/" + name) == 0)
      }
      let made = try PartFile.making(in: folder, for: kind, tag: tag)
      #expect(made.name != name && made.isInPlace && place.outside.isEmpty, "\(kind)")
    }
    #expect(try Data(contentsOf: URL(fileURLWithPath: place.path + "/in/precious")).count == 8)
  }

  /// A part file is what its record says, or it is not used.
  @Test func aPartFileIsTheRecordedOne() throws {
    let place = try Place()
    let folder = try Folder.open(place.path + "/in")
    func find(_ record: PartRecord?) throws -> Folder.FoundPart {
      try folder.part("p", record: record, tag: "t")
    }
    var record: PartRecord
    do {
      let made = try #require(try folder.makingPart("p", tag: "t"))
      record = made.record
      guard case .locked = try find(record) else { return #expect(Bool(false), "it is worked on") }
      #expect(!folder.removePart("p", record: record) && made.isInPlace)
    }
    guard case .part(let again) = try find(record) else { return #expect(Bool(false), "it is free") }
    #expect(again.record == record)
    // A second name that was given to it keeps its bytes; that of a file that is not on record is refused.
    try #require(link(place.path + "/in/p", place.path + "/in/second") == 0)
    guard case .linked = try find(record) else { return #expect(Bool(false), "a second name") }
    #expect(code { _ = try find(nil) } == .ioError && !folder.removePart("p", record: record))
    unlink(place.path + "/in/second")
    rename(place.path + "/in/p", place.path + "/in/away")
    #expect(!again.isInPlace)
    try Data("other".utf8).write(to: URL(fileURLWithPath: place.path + "/in/p"))
    #expect(!again.isInPlace && code { try again.expectInPlace() } == .ioError)
    again.discard()
    #expect(try folder.facts("p") != nil, "another file is not removed")
    guard case .another = try find(record) else { return #expect(Bool(false), "another file") }
    // Where the job was copied elsewhere, folder and all, its part files came along.
    record.folder += 1
    guard case .part(let copied) = try find(record) else { return #expect(Bool(false), "a copy") }
    #expect(copied.record.inode != record.inode)
    chown(place.path + "/in/p", 4711, 4711)
    if getuid() == 0 { #expect(code { _ = try find(copied.record) } == .ioError) }
  }

  /// Nothing is made or opened in haul's state, whatever way leads there.
  @Test func stateFoldersAreProtected() throws {
    let place = try Place()
    for path in ["/in/state/own", "/in/state/other", "/in/data"] {
      try FileManager.default.createDirectory(atPath: place.path + path, withIntermediateDirectories: true)
    }
    try place.link("way", "state/own")
    try place.link("out", place.path + "/in/state")
    let folder = try Folder.open(place.path + "/in")
    let root = place.path + "/in/state"
    let jobs = [root + "/own"]
    let protected = ProtectedFolders(root: root, jobs: jobs, home: folder)
    func make(_ path: String, _ beneath: Bool = true, _ folders: ProtectedFolders? = nil) -> ErrorCode? {
      code { _ = try folder.making(path, beneath: beneath, sparing: folders ?? protected) }
    }
    for path in [
      "state", "state/own", "state/other", "state/new", "state/own/new/er", "way", "way/x",
      "data/../state/own",
    ] {
      #expect(make(path) == .permissionDenied, "\(path)")
      #expect(make(path, false) == .permissionDenied, "\(path)")
    }
    #expect(make("out/own", false) == .permissionDenied && make(root + "/own/y", false) == .permissionDenied)
    #expect(make("data") == nil && make("data/new") == nil && make("", false) == nil)
    #expect(try FileManager.default.contentsOfDirectory(atPath: root).sorted() == ["other", "own"])
    #expect(try FileManager.default.contentsOfDirectory(atPath: root + "/own") == [])
    // A manifest beside its jobs' state: their folders are protected.
    let beside = ProtectedFolders(root: place.path + "/in", jobs: jobs, home: folder)
    #expect(make("state/own", true, beside) == .permissionDenied && make("data", true, beside) == nil)
    // One that lies in it, in a folder that is no job's.
    let deeper = ProtectedFolders(root: place.path, jobs: jobs, home: folder)
    #expect(make("way/x", true, deeper) == .permissionDenied && make("data", true, deeper) == nil)
    // The state is elsewhere, and only a way out leads there.
    let away = ProtectedFolders(root: place.path + "/out", jobs: [], home: folder)
    #expect(make(place.path + "/out", false, away) == .permissionDenied && make("data", true, away) == nil)
  }

  @Test func renamesAndKeeps() throws {
    let place = try Place()
    let folder = try Folder.open(place.path + "/in")
    _ = try folder.makingPart("a", tag: "")
    _ = try folder.makingPart("b", tag: "")
    #expect(code { try folder.rename("a", to: "b", keepingOld: true) } == .destinationExists)
    #expect(try folder.facts("a") != nil)
    #expect(code { try folder.rename("a", to: "b", keepingOld: false) } == nil)
    #expect(try folder.facts("a") == nil && folder.facts("b") != nil)
    #expect(code { try folder.rename("b", to: "c", keepingOld: true) } == nil)
    #expect(code { try folder.rename("gone", to: "c", keepingOld: false) } == .ioError)
  }

  @Test func aPartFileVouchesForItsChunks() async throws {
    let place = try Place()
    let folder = try Folder.open(place.path + "/in")
    let part = try #require(try folder.makingPart("p", tag: ""))
    try part.preallocate(100_000)
    #expect(try part.file.facts().size == 100_000)
    try part.preallocate(3000)
    #expect(try part.file.facts().size == 3000, "a part file that is too long is cut")
    let bytes = self.bytes(3000)
    try bytes.withUnsafeBytes { try part.file.write($0, at: 0) }
    let records = try [0, 1000, 2000].map {
      ChunkRecord(
        offset: Int64($0), length: 1000, digest: try Digest.hex(of: Array(bytes[$0..<$0 + 1000]), .crc32c))
    }
    let pool = BlockingPool(label: "test", width: 2)
    func vouched() async throws -> [Int64] {
      try await part.vouched(records, on: pool).map(\.offset).sorted()
    }
    #expect(try await vouched() == [0, 1000, 2000])
    // From the disk as well as from memory.
    try part.file.sync()
    posix_fadvise(part.file.descriptor, 0, 0, POSIX_FADV_DONTNEED)
    #expect(try await vouched() == [0, 1000, 2000])
    try [UInt8(1) ^ bytes[1500]].withUnsafeBytes { try part.file.write($0, at: 1500) }
    #expect(try await vouched() == [0, 2000])
    try part.truncate(2500)
    #expect(try await vouched() == [0])
    for time: Int64 in [1_700_000_000_123_456_789, -1, 0] {
      try part.setTime(time)
      #expect(try part.file.facts().mtime == time)
    }
  }

  @Test func onlyTheFileThatWasPutThereIsSynced() throws {
    let place = try Place()
    let folder = try Folder.open(place.path + "/in")
    let inode = try #require(try folder.makingPart("a", tag: "")).record.inode
    #expect(try folder.sync("a", inode: inode))
    // Its mode may not let even its owner read it.
    chmod(place.path + "/in/a", 0o200)
    #expect(try folder.sync("a", inode: inode))
    #expect(try !folder.sync("a", inode: inode + 1) && !folder.sync("gone", inode: inode))
    #expect(try !folder.sync("sub", inode: inode))
    try place.link("linked", place.path + "/in/a")
    #expect(try !folder.sync("linked", inode: inode))
    #expect(
      try folder.opening("sub") != nil && folder.opening("") != nil && folder.opening(place.path) != nil)
    #expect(try folder.opening("none") == nil && folder.opening("a/b") == nil)
  }

  @Test func whatASyncOfAllHasProvedIsNotSyncedAgain() throws {
    let place = try Place()
    let folder = try Folder.open(place.path + "/in")
    let inode = try #require(try folder.makingPart("a", tag: "")).record.inode
    var status = stat()
    try #require(stat(place.path, &status) == 0)
    let here = UInt64(status.st_dev)
    #expect(try folder.sync("a", inode: inode, but: here) && folder.sync("a", inode: inode, but: here &+ 1))
    #expect(
      try !folder.sync("a", inode: inode + 1, but: here) && !folder.sync("gone", inode: inode, but: here))
    // Where it is trusted at all, it is for the device that it syncs.
    let whole = WholeSync(folder, now: 100)
    if let device = whole.sync() { #expect(device == here) }
    #expect(whole.covers(completedAt: 100, reused: 0))
    // Written before, or by another process: its errors may have been told already.
    #expect(!whole.covers(completedAt: 100, reused: 1) && !whole.covers(completedAt: 99, reused: 0))
    for release in ["5.8", "5.10.0-21-cloud", "6.18.44-fc-v445"] { #expect(WholeSync.reportsErrors(release)) }
    for release in ["5.7.19", "4.19.0", "", "x"] { #expect(!WholeSync.reportsErrors(release)) }
  }

  @Test func dirtyPagesAreCounted() {
    let text = "MemTotal:  100 kB\nDirty:        12 kB\nWriteback:     30 kB\nWritebackTmp:   5 kB\n"
    #expect(DirtyPages.total(text) == 42)
    #expect(DirtyPages.total("Dirty: 12 kB\n") == nil && DirtyPages.total("") == nil)
  }

  @Test(arguments: 0..<8) func aDigestThatTrailsIsTheDirectOne(seed: Int) async throws {
    let place = try Place()
    let folder = try Folder.open(place.path + "/in")
    let file = try #require(try folder.makingPart("p", tag: "")).file
    let size = [0, 1, 70_000, 3_000_000][seed % 4]
    let bytes = self.bytes(size, seed: seed)
    let pool = BlockingPool(label: "test", width: 2)
    let blocks = BlockPool()
    let trailing = try IncrementalDigest([.sha256, .md5, .crc32c], of: file, pool: pool, blocks: blocks)
    var position = 0
    while position < size {
      let next = min(size, position + Int.random(in: 1...min(BlockPool.blockSize, max(1, size / 7))))
      try bytes[position..<next].withUnsafeBytes { try file.write($0, at: Int64(position)) }
      // Blocks are taken in order only; what is refused is read from the file.
      if Bool.random(), let block = blocks.take() {
        bytes[position..<next].withUnsafeBytes { block.append($0) }
        if !trailing.take(block, at: Int64(position)) { blocks.giveBack(block) }
      }
      position = next
      if Bool.random() { trailing.advance(to: Int64(position)) }
      if Bool.random() { trailing.advance(to: Int64(Int.random(in: 0...position))) }
      await Task.yield()
    }
    let found = try await trailing.finish(size: Int64(size))
    for kind in [DigestKind.sha256, .md5, .crc32c] {
      #expect(found[kind] == (try Digest.hex(of: bytes, kind)))
    }
    #expect(try await trailing.finish(size: Int64(size)) == found)
    // All blocks are back.
    #expect(blocks.lent == 0)
    let short = try IncrementalDigest([.sha256], of: file, pool: pool)
    await #expect(throws: Failure.self) { try await short.finish(size: Int64(size) + 1) }
  }
}
