import JobModel
import Testing

/// Paths as the kernel reads them: to Swift, a slash and a combining mark behind it are one character.
struct RelativePathTests {
  @Test(arguments: [
    ("a/./b//c", "a/b/c"), ("a/../b", "b"), ("../a", "../a"), ("/../a", "/a"), ("a/b/", "a/b/"),
    ("a/../\u{301}b", "\u{301}b"), ("./\u{301}", "\u{301}"), ("/\u{301}/../b", "/b"),
  ])
  func normalizes(path: String, wanted: String) {
    #expect(Array(RelativePath.normalize(path).utf8) == Array(wanted.utf8))
  }

  @Test(arguments: ["..", "../a", "/a", "a/../../b", "../\u{301}a", "/\u{301}a", "a/../../\u{301}b"])
  func escapes(path: String) {
    #expect(RelativePath.escapes(path))
    #expect(RelativePath.climbs(path, afterBytes: 0))
  }

  @Test(arguments: ["a", "..a", "a/..", "a/../b", "\u{301}/a", "a/\u{301}.."])
  func stays(path: String) { #expect(!RelativePath.escapes(path)) }

  /// `%2e` is a dot in a URL, and three characters in a path.
  @Test func encodedDots() {
    for path in ["%2e%2e/x", "a/%2E./%2e%2E/x", ".%2e/x"] {
      #expect(RelativePath.climbs(path, afterBytes: 0, isEncoded: true), "\(path)")
      #expect(!RelativePath.climbs(path, afterBytes: 0), "\(path)")
    }
    #expect(!RelativePath.climbs("%2e/x", afterBytes: 0, isEncoded: true))
  }

  @Test func isMadeRelative() {
    #expect(RelativePath.relative("/w/a/b", to: "/w") == "a/b")
    #expect(Array(RelativePath.relative("/w/\u{301}a", to: "/w").utf8) == Array("\u{301}a".utf8))
    #expect(RelativePath.relative("/wa", to: "/w") == "/wa")
  }

  @Test(arguments: [
    ("a/\u{301}b", "a/", "\u{301}b"), ("a/b/", "a/b/", ""), ("a", "", "a"), ("/a", "/", "a"), ("", "", ""),
  ])
  func folderAndName(path: String, folder: String, name: String) {
    #expect(Array(RelativePath.folder(path).utf8) == Array(folder.utf8))
    #expect(Array(RelativePath.baseName(path).utf8) == Array(name.utf8))
  }

  @Test func filtersKeepToSlashes() throws {
    #expect(try GlobPattern("a/\u{301}*").fixedPart == "a/")
    #expect(try EntryFilter(include: [GlobPattern("\u{301}b")]).admits("a/\u{301}b"))
    #expect(try EntryFilter(exclude: [GlobPattern("a/\u{301}b")]).admits("x/a/\u{301}b"))
  }

  @Test func globsKeepToSlashes() throws {
    #expect(try GlobPattern("a/*").matches("a/\u{301}b"))
    #expect(try !GlobPattern("*").matches("a/\u{301}b"))
    #expect(try !GlobPattern(GlobPattern.escape("*\u{301}")).matches("x\u{301}"))
  }
}
