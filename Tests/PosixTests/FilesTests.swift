import Glibc
import Testing

@testable import Posix

/// A folder that ends with the value.
final class Scratch {
  let path: String

  init() throws {
    path = "/tmp/haul-posix-\(UInt64.random(in: .min ... .max))"
    try Files.makeFolders(path)
  }

  deinit { Files.remove(path) }

  func write(_ name: String, _ text: String) throws {
    let descriptor = open(path + "/" + name, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    try #require(descriptor >= 0)
    #expect(Glibc.write(descriptor, text, text.utf8.count) == text.utf8.count)
    close(descriptor)
  }
}

struct FilesTests {
  @Test func contents() throws {
    let folder = try Scratch()
    let text = String(repeating: "0123456789", count: 20_000)
    try folder.write("a", text)
    try folder.write("empty", "")
    #expect(try Files.read(folder.path + "/a") == Array(text.utf8))
    #expect(try Files.read(folder.path + "/empty") == [])
    #expect(throws: SystemError(ENOENT)) { try Files.read(folder.path + "/none") }
    #expect(throws: SystemError(EISDIR)) { try Files.read(folder.path) }
    #expect("\(SystemError(ENOENT))" == "No such file or directory")
    // A file of proc(5) tells no size.
    #expect(try Files.read("/proc/self/status").starts(with: "Name:".utf8))
  }

  @Test func namesAndKinds() throws {
    let folder = try Scratch()
    try folder.write(".hidden", "")
    try folder.write("ä", "")
    try Files.makeFolders(folder.path + "/sub")
    symlink("nowhere", folder.path + "/link")
    let broken: [CChar] = folder.path.utf8.map { CChar(bitPattern: $0) } + [0x2F, -1, 0x78, 0]
    close(open(broken, O_WRONLY | O_CREAT, 0o600))
    #expect(try Files.names(in: folder.path).sorted() == [".hidden", "link", "sub", "ä", "\u{FFFD}x"])
    unlink(broken)
    #expect(throws: SystemError(ENOENT)) { try Files.names(in: folder.path + "/none") }
    #expect(throws: SystemError(ENOTDIR)) { try Files.names(in: folder.path + "/ä") }
    #expect(Files.exists(folder.path + "/ä") && !Files.isFolder(folder.path + "/ä"))
    #expect(Files.isFolder(folder.path + "/sub") && !Files.exists(folder.path + "/none"))
    // A link counts as what it leads to.
    #expect(!Files.exists(folder.path + "/link"))
    #expect(Files.linkTarget(folder.path + "/link") == "nowhere")
    #expect(Files.linkTarget(folder.path + "/ä") == nil)
  }

  @Test func foldersAreTheirOwnersOnly() throws {
    let folder = try Scratch()
    try Files.makeFolders(folder.path + "/a/b/c")
    try Files.makeFolders(folder.path + "/a/b/c")
    var status = stat()
    for path in ["/a", "/a/b", "/a/b/c"] {
      #expect(stat(folder.path + path, &status) == 0 && status.st_mode & 0o777 == 0o700)
    }
    try folder.write("file", "")
    #expect(throws: SystemError(EEXIST)) { try Files.makeFolders(folder.path + "/file") }
    #expect(throws: SystemError(ENOTDIR)) { try Files.makeFolders(folder.path + "/file/below") }
  }

  @Test func removing() throws {
    let folder = try Scratch()
    try Files.makeFolders(folder.path + "/a/b")
    try folder.write("a/b/file", "")
    try folder.write("kept", "x")
    // What a link leads to is not touched.
    symlink(folder.path, folder.path + "/a/out")
    Files.remove(folder.path + "/a")
    Files.remove(folder.path + "/none")
    #expect(try Files.names(in: folder.path) == ["kept"])
  }

  /// A folder that the environment names may be gone, or another user's.
  @Test(arguments: ["", "/tmp", "/tmp/there-is-no-such-folder", "/proc/self"])
  func scratchFiles(_ folder: String) throws {
    let file = try ScratchFile(in: folder)
    let block = (0..<100_000).map { UInt8(truncatingIfNeeded: $0) }
    try file.write(block, at: 0)
    try file.write([7, 8, 9], at: 100_000)
    #expect(try file.read(at: 0, count: 100_000) == block)
    #expect(try file.read(at: 99_999, count: 10) == [block[99_999], 7, 8, 9])
    #expect(try file.read(at: 200_000, count: 10) == [])
  }
}
