import Glibc
import Testing

@testable import DepotServer

@Suite struct PathTests {
  @Test(arguments: [
    "a/../b", "..", ".", "a//b", "", "/a", "a/", ".depot/x", ".depot", "a\u{0}b", "a\nb", "../x",
    String(repeating: "x", count: 256),
  ])
  func refusesFileName(name: String) {
    #expect(RootPath(fileName: name) == nil)
  }

  @Test(arguments: ["a", "a/b/c.bin", "..a", "a..", ".hidden", "über/ñ", "x/.depot"])
  func takesFileName(name: String) {
    #expect(RootPath(fileName: name)?.text == name)
  }

  @Test(arguments: [
    "/files/../secret", "/files/%2e%2e/secret", "/files/..%2fsecret", "/files/%2e%2e%2fsecret",
    "/files/in/../../secret", "/files/out", "/files/outdir/secret", "/files/abs", "/files/state/digests",
    "/files/.depot/digests", "/files/%2edepot/digests", "/files/./a", "/files//a", "/files/a%00",
    "/files/a%2",
    "/files/in", "/files/in/", "/files/", "/files", "/files/pipe", "/files/missing", "/other",
  ])
  func servesNothing(path: String) async throws {
    try await Fixture.run { (fixture) async throws in
      let root = fixture.root
      Fixture.write(root + "/../secret", Array("secret".utf8))
      mkdir(root + "/in", 0o755)
      fixture.put("a", Array("a".utf8))
      symlink("../secret", root + "/out")
      symlink("..", root + "/outdir")
      symlink("/etc/passwd", root + "/abs")
      symlink(".depot", root + "/state")
      mkfifo(root + "/pipe", 0o644)
      Fixture.write(root + "/.depot/digests", Array("x".utf8))
      let reply = try await fixture.client.send("GET", path)
      #expect(reply?.status == 404)
      #expect(reply?.field("code") == "NOT_FOUND")
    }
  }

  /// The kernel doesn't follow a link's `..` for a moment where anything is renamed, and it is served all the same.
  @Test func linkWhileOthersAreRenamed() async throws {
    try await Fixture.run { (fixture) async throws in
      let folder = fixture.root + "/apart"
      mkdir(folder, 0o755)
      mkdir(folder + "/in", 0o755)
      Fixture.write(folder + "/a", [1])
      symlink("../a", folder + "/in/link")
      let root = try FileRoot(folder)
      let path = try #require(RootPath(fileName: "in/link"))
      let isOver = Locked(false)
      let pool = BlockingPool(threads: 1)
      let (one, other) = (fixture.root + "/one", fixture.root + "/other")
      Fixture.write(one, [])
      let renaming = Task {
        try await pool.run {
          while !isOver.withLock({ $0 }) {
            rename(one, other)
            rename(other, one)
          }
        }
      }
      let found = (0..<10_000).filter { _ in root.open(path) != nil }.count
      isOver.withLock { $0 = true }
      try await renaming.value
      #expect(found == 10_000)
    }
  }

  @Test func servesWhatIsInside() async throws {
    try await Fixture.run { (fixture) async throws in
      mkdir(fixture.root + "/in", 0o755)
      fixture.put("in/a b%.txt", Array("text".utf8))
      fixture.put("in/meta", Array("named meta".utf8))
      symlink("in/meta", fixture.root + "/link")
      #expect(try await fixture.client.send("GET", "/files/in/a%20b%25.txt?x=1")?.text == "text")
      #expect(try await fixture.client.send("GET", "/files/in/%6Deta")?.text == "named meta")
      #expect(try await fixture.client.send("GET", "/files/link")?.text == "named meta")
      #expect(try await fixture.client.send("GET", "/files/in/meta")?.status == 404)
      let meta = try await fixture.client.send("GET", "/files/in/%6Deta/meta")
      #expect(meta?.field("sha256") == Fixture.sha256(Array("named meta".utf8)))
    }
  }
}
