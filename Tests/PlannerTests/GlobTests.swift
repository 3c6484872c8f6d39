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
  ])
  func matching(_ pattern: String, _ path: String, _ matches: Bool) throws {
    #expect(try GlobPattern(pattern).matches(path) == matches)
  }

  @Test(arguments: [
    ("masters/**/*.mov", "masters/"), ("*.mov", ""), ("a/b{c,d}/e", "a/"), ("a/b", "a/"), ("/x/y*", "/x/"),
    ("a\\[1]/*", "a[1]/"), ("../up/*", "../up/"),
  ])
  func fixedPart(_ pattern: String, _ fixed: String) throws {
    #expect(try GlobPattern(pattern).fixedPart == fixed)
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
        "jobs/job.yaml:7:22: warning: `jobs/m/dirlink` is a symbolic link and is left out",
        "jobs/job.yaml:7:22: warning: `jobs/m/link` is a symbolic link and is left out",
        "jobs/job.yaml:8:25: warning: no file matches `none/*.x`",
        "jobs/job.yaml:9:25: error: no file matches `m/*.nope`",
      ])
  }
}
