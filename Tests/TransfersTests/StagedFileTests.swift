import Digests
import Foundation
import JobModel
import Testing

@testable import LocalFiles
@testable import Transfers

/// Where a download's bytes lie and what hashes them, through each way that a fetch can go.
struct StagedFileTests {
  private final class Place: Sendable {
    let path = FileManager.default.temporaryDirectory.path + "/haul-staged-" + UUID().uuidString
    let folder: Folder
    let pool = BlockingPool(label: "test", width: 2)
    let blocks = BlockPool()

    init() throws {
      try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
      folder = try Folder.open(path)
    }
    deinit { try? FileManager.default.removeItem(atPath: path) }

    var names: [String] { (try? FileManager.default.contentsOfDirectory(atPath: path)) ?? ["?"] }

    func open(_ staged: inout StagedFile, _ size: Int64?, isOnePiece: Bool = false, minFree: Int64 = 0) throws
      -> PartFile
    {
      let plan = StagedFile.Plan(
        kinds: [.sha256], size: size, minFree: minFree, contiguous: 0, isOnePiece: isOnePiece)
      return try staged.open(plan, pool: pool, blocks: blocks) {
        try PartFile.making(in: folder, for: "f", tag: "0123456789abcdef")
      }
    }
  }

  private func feed(_ staged: StagedFile, _ text: String) throws {
    try Array(text.utf8).withUnsafeBytes { bytes in
      switch staged.target {
      case .held(let held): held.append(bytes)
      case .part(let part): try part.file.write(bytes, at: 0)
      case nil: Issue.record("nothing takes bytes")
      }
      if case .inline(let digest) = staged.digest { digest.update(bytes) }
    }
  }

  private func sha256(_ text: String) throws -> String { try Digest.hex(of: Array(text.utf8), .sha256) }

  @Test func aSmallFileNeedsNoPartFile() async throws {
    let place = try Place()
    var staged = StagedFile()
    #expect(staged.isEmpty && staged.isUntouched && !staged.isPassing && staged.target == nil)
    try staged.hold(size: 5, [.sha256])
    #expect(staged.isPassing && !staged.isUntouched && staged.part == nil)
    try feed(staged, "hello")
    #expect(try staged.count() == 5)
    #expect(try staged.reader()(1, 3) == Array("ell".utf8))
    #expect(try await staged.takeDigest(size: 5)() == [.sha256: sha256("hello")])
    #expect(!staged.isPassing, "its digest is taken")
    #expect(place.names.isEmpty)
    let held = try #require(staged.held)
    let inode = try held.make(in: place.folder, for: "f", tag: "0123456789abcdef", leaving: 0, time: nil)
    #expect(staged.takeMade() == inode && staged.held == nil && staged.part?.record.inode == inode)
    #expect(staged.takeMade() == nil)
    staged.discard()
    #expect(staged.isEmpty && place.names.isEmpty)
  }

  /// An answer that broke off: its bytes go on in the part file, and nothing is hashed twice.
  @Test func whatIsHeldMovesToThePartFile() throws {
    let place = try Place()
    var staged = StagedFile()
    try staged.hold(size: 5, [.sha256])
    try feed(staged, "hel")
    let part = try place.open(&staged, 5)
    #expect(staged.held == nil && staged.part != nil && !staged.isPassing)
    #expect(try part.file.bytes(at: 0, count: 3) == Array("hel".utf8))
    #expect(try part.file.facts().size >= 3)
  }

  @Test func aFullDiskLeavesNothing() throws {
    let place = try Place()
    for isHeld in [true, false] {
      var staged = StagedFile()
      if isHeld { try staged.hold(size: 5, [.sha256]) }
      #expect(throws: Failure.self) { try place.open(&staged, 5, minFree: .max / 2) }
      #expect(place.names.isEmpty && staged.part == nil && (staged.held != nil) == isHeld)
    }
  }

  /// What is open stays open; a digest that has seen wrong bytes is begun anew, and reads them again.
  @Test func digestsAreBegunAnew() async throws {
    let place = try Place()
    var staged = StagedFile()
    let part = try place.open(&staged, 5)
    #expect(try place.open(&staged, 5) === part)
    try feed(staged, "hallo")
    staged.breakOff(hashed: false, isEmpty: false)
    guard case .trailing = staged.digest else {
      Issue.record("it has seen nothing wrong")
      return
    }
    staged.breakOff(hashed: true, isEmpty: true)
    guard case .none = staged.digest else {
      Issue.record("it has seen bytes that come again")
      return
    }
    #expect(staged.part === part, "the part file stays")
    #expect(try place.open(&staged, 5) === part)
    try feed(staged, "hello")
    staged.wrote(0..<5, contiguous: 5, Writeback())
    #expect(try await staged.takeDigest(size: 5)() == [.sha256: sha256("hello")])
    staged.clear()
    #expect(staged.part === part && staged.held == nil)
    staged.promoted(inode: part.record.inode, Writeback())
    #expect(staged.isEmpty && place.names.count == 1)
  }

  /// A small file whose part file is there already is hashed as it passes, until an answer breaks off.
  @Test func onePieceIntoThePartFile() async throws {
    let place = try Place()
    var staged = StagedFile()
    _ = try place.open(&staged, 5, isOnePiece: true)
    #expect(!staged.isPassing)
    try feed(staged, "hello")
    #expect(try await staged.takeDigest(size: 5)() == [.sha256: sha256("hello")])
    _ = try place.open(&staged, 5, isOnePiece: true)
    staged.forgetHash()
    guard case .inline = staged.digest else {
      Issue.record("it hashes what comes from now on")
      return
    }
    staged.breakOff(hashed: false, isEmpty: true)
    guard case .none = staged.digest else {
      Issue.record("it has seen bytes that come again")
      return
    }
  }

  @Test func ofNothing() async throws {
    var staged = StagedFile()
    #expect(throws: Failure.self) { try staged.count() }
    #expect(throws: Failure.self) { _ = try staged.reader() }
    #expect(try await staged.takeDigest(size: 0)() == [:])
    staged.discard()
    #expect(staged.takeMade() == nil)
  }
}
