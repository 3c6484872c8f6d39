import Foundation
import JobModel
import Testing

@Suite struct GlobTests {
  @Test(arguments: [
    ("*.mov", "a.mov", true), ("*.mov", ".mov", true), ("*.mov", "d/a.mov", false),
    ("**/*.mov", "a.mov", true),
    ("**/*.mov", "d/e/a.mov", true), ("d/**", "d/a/b", true), ("d/**", "d", false), ("d/**/e", "d/e", true),
    ("a?c", "aüc", true), ("a?c", "ac", false), ("[a-c]x", "bx", true), ("[!a-c]x", "bx", false),
    ("[]]x", "]x", true), ("{a,b/c}.t", "b/c.t", true), ("{a,b}.t", "c.t", false), ("{x}", "{x}", true),
    ("\\*", "*", true), ("\\*", "a", false), ("a\\b", "a\\b", true), ("*a*b*c*", "xaybzc", true),
    ("*a*b", "aab", true), ("**", "a", true), ("./a/*", "a/b", true), ("x{,y}z", "xz", true),
    // The first brace that begins a group, whatever lies around it.
    ("{a,{b}", "{a,{b}", true), ("{{a,b}", "{b", true), ("{a{b,c}}", "{ac}", true),
    ("{a,{b,c}}d", "cd", true),
    ("{x{a,b}{c,d}", "{xbd", true), ("a}{b,c}", "a}c", true), ("\\{a,b}", "{a,b}", true),
  ])
  func matching(_ pattern: String, _ path: String, _ matches: Bool) throws {
    #expect(try GlobPattern(pattern).matches(path) == matches)
  }

  /// Each is looked at once: the square of so many would take minutes.
  @Test func bracesThatBeginNoGroup() throws {
    for text in [String(repeating: "{", count: 100_000), String(repeating: "{a}", count: 50_000)] {
      let pattern = try GlobPattern(text)
      #expect(pattern.isLiteral && pattern.matches(text))
    }
  }

  @Test(arguments: [
    ("masters/**/*.mov", "masters/"), ("*.mov", ""), ("a/b{c,d}/e", "a/"), ("a/b", "a/"), ("/x/y*", "/x/"),
    ("a\\[1]/*", "a[1]/"), ("../up/*", "../up/"),
  ])
  func fixedPart(_ pattern: String, _ fixed: String) throws {
    #expect(try GlobPattern(pattern).fixedPart == fixed)
  }

  /// What haul has not finished to fetch is no source.
  @Test func `unfinished downloads are left out`() throws {
    let fixture = try PlanFixture(["m/a": "", "m/d/.big.0123456789abcdef.haul-part": ""])
    defer { fixture.remove() }
    let outcome = try fixture.plan("  - { id: m, upload: \"m/**\", to: \"depot:n/\" }\n")
    #expect(outcome.transfers.map(\.id) == ["m/a"] && outcome.errors.isEmpty)
    #expect(outcome.lines.contains { $0.contains("not finished, and is left out") }, "\(outcome.lines)")
  }

  /// Very many are one warning.
  @Test func `what is passed over is told once`() throws {
    let fixture = try PlanFixture(["m/a": ""])
    defer { fixture.remove() }
    for number in 1...200 {
      try FileManager.default.createSymbolicLink(
        atPath: fixture.folder.appendingPathComponent("m/l\(1000 + number)").path, withDestinationPath: "a")
    }
    let outcome = try fixture.plan("  - { id: m, upload: \"m/**\", to: \"depot:n/\" }\n")
    let told = "200 symbolic links are left out: `jobs/m/l1001`, `jobs/m/l1002`, `jobs/m/l1003` and 197 more"
    #expect(outcome.ids == ["m/a"] && outcome.lines.count == 1, "\(outcome.lines)")
    #expect(outcome.lines.first?.hasSuffix(told) == true, "\(outcome.lines)")
  }

  /// A fault that many entries have is told once, and says which they are.
  @Test func `entries at fault are named`() throws {
    let fixture = try PlanFixture(["m/a": "", "m/b": "", "m/c": "", "m/d": "", "m/e.x": ""])
    defer { fixture.remove() }
    let outcome = try fixture.plan(
      "  - { id: m, upload: \"m/*\", to: \"depot:${source.stem}.${source.ext}\" }\n")
    let told = "`jobs/m/a`, `jobs/m/b`, `jobs/m/c` and 1 more: `source.ext` is empty or not set"
    #expect(outcome.errors.map(\.message) == [told] && outcome.ids == ["m/e.x"], "\(outcome.lines)")
    let one = try PlanFixture(["m/a": "", "m/e.x": ""])
    defer { one.remove() }
    let single = try one.plan("  - { id: m, upload: \"m/*\", to: \"depot:${source.stem}.${source.ext}\" }\n")
    #expect(single.errors.map(\.message) == ["`jobs/m/a`: `source.ext` is empty or not set"])
  }

  /// A name that is not UTF-8 is an error where the glob may mean it, and nothing to it where it can't.
  @Test(
    arguments: [
      ("nu/*.txt", "", []), ("nu/**/*.txt", "", []), ("nu/*", ", exclude: [\"*.bin\"]", []),
      ("nu/**", ", exclude: [\"*.bin\"]", []), ("nu/**", ", include: [\"*.txt\"]", []),
      ("nu/*", "", ["nu/\u{FFFD}.bin"]), ("nu/*.bin", "", ["nu/\u{FFFD}.bin"]),
      ("nu/?.bin", "", ["nu/\u{FFFD}.bin"]),
      ("nu/**", "", ["nu/\u{FFFD}.bin"]),
    ] as [(String, String, [String])])
  func `names that are not UTF-8`(_ glob: String, _ more: String, _ errors: [String]) throws {
    let fixture = try PlanFixture(["nu/a.txt": "1"])
    defer { fixture.remove() }
    try Self.make(fixture.folder.path + "/nu/", [0xFF] + Array(".bin".utf8))
    let rule = errors.isEmpty ? "" : ", if_empty: warn"
    let outcome = try fixture.plan("  - { id: m, upload: \"\(glob)\", to: \"depot:n/\"\(more)\(rule) }\n")
    #expect(
      outcome.errors.map(\.message) == errors.map { "`jobs/\($0)` has a name that is not UTF-8" },
      "\(outcome.lines)")
    if errors.isEmpty { #expect(outcome.ids == ["m/a.txt"]) }
  }

  /// A folder of such a name may hold what is meant.
  @Test(arguments: [("nu/*.txt", "", 0), ("nu/**/*.txt", "", 1), ("nu/**/*.txt", ", exclude: [\"?/**\"]", 0)])
  func `folders that are not UTF-8`(_ glob: String, _ more: String, _ errors: Int) throws {
    let fixture = try PlanFixture(["nu/a.txt": "1"])
    defer { fixture.remove() }
    try Self.make(fixture.folder.path + "/nu/", [0xFE], isFolder: true)
    let outcome = try fixture.plan("  - { id: m, upload: \"\(glob)\", to: \"depot:n/\"\(more) }\n")
    #expect(outcome.errors.count == errors && outcome.ids == ["m/a.txt"], "\(outcome.lines)")
  }

  private static func make(_ folder: String, _ name: [UInt8], isFolder: Bool = false) throws {
    let path = (Array(folder.utf8) + name + [0]).map { CChar(bitPattern: $0) }
    if isFolder {
      try #require(mkdir(path, 0o700) == 0)
    } else {
      let descriptor = open(path, O_WRONLY | O_CREAT, 0o600)
      try #require(descriptor >= 0)
      close(descriptor)
    }
  }

  @Test(
    arguments: [
      ("exclude: ['tmp/']", ["a", "tmp.x", "x/b"]), ("exclude: [/tmp/]", ["a", "tmp.x", "x/b", "x/tmp/d"]),
      ("exclude: ['x/tmp/']", ["a", "tmp.x", "tmp/c", "x/b"]), ("exclude: ['t*//']", ["a", "tmp.x", "x/b"]),
      ("exclude: ['{x,tmp}/']", ["a", "tmp.x"]), ("exclude: ['**/']", []),
      ("include: ['tmp/']", ["tmp/c", "x/tmp/d"]), ("include: ['x/'], exclude: ['tmp/']", ["x/b"]),
      ("exclude: [/]", ["a", "tmp.x", "tmp/c", "x/b", "x/tmp/d"]),
    ])
  func `a pattern that ends in a slash is a folder`(_ filter: String, _ paths: [String]) throws {
    let fixture = try PlanFixture(["m/a": "", "m/tmp.x": "", "m/tmp/c": "", "m/x/b": "", "m/x/tmp/d": ""])
    defer { fixture.remove() }
    let outcome = try fixture.plan(
      "  - { id: m, upload: \"m/**\", to: \"depot:n/\", if_empty: warn, \(filter) }\n")
    #expect(outcome.ids == paths.map { "m/" + $0 } && outcome.errors.isEmpty, "\(outcome.lines)")
  }

  @Test func `order, links, include and exclude`() throws {
    let fixture = try PlanFixture([
      "m/a-b": "1", "m/a/z": "22", "m/a.x": "", "m/skip/x.tmp": "", "m/skip/y": "", "m/b.tmp": "",
      "outside/o": "",
    ])
    defer { fixture.remove() }
    let link = { (name: String, target: String) in
      try FileManager.default.createSymbolicLink(
        atPath: fixture.folder.appendingPathComponent(name).path, withDestinationPath: target)
    }
    try link("m/link", "a-b")
    try link("m/dirlink", "../outside")
    let outcome = try fixture.plan(
      """
        - { id: m, upload: "m/**", to: "depot:${source.stem}/${source.path}", exclude: ["*.tmp", "skip/**"] }
        - { id: none, upload: "none/*.x", to: "depot:n/", if_empty: warn }
        - { id: fail, upload: "m/*.nope", to: "depot:f/" }
      """)
    #expect(outcome.ids == ["m/a-b", "m/a.x", "m/a/z"])
    #expect(outcome.destinations == ["depot:a-b/a-b", "depot:a/a.x", "depot:z/a/z"])
    #expect(
      outcome.lines == [
        "jobs/job.yaml:7:22: warning: 2 symbolic links are left out: `jobs/m/dirlink`, `jobs/m/link`",
        "jobs/job.yaml:8:25: warning: no file matches `none/*.x`",
        "jobs/job.yaml:9:25: error: no file matches `m/*.nope`",
      ])
  }
}
