import Endpoints
import Foundation
import JobModel
import Planner
import Testing

/// Names by their bytes: what is one name, what is two, and what is none.
@Suite struct NameTests {
  /// Canonically equivalent texts, which Swift's strings take for equal.
  static let pairs = [
    ("caf\u{e9}", "cafe\u{301}"), ("K", "\u{212A}"), ("\u{212B}", "\u{C5}"), ("\u{C5}", "A\u{30A}"),
    ("\u{AC00}", "\u{1100}\u{1161}"), ("\u{3A9}", "\u{2126}"),
  ]

  @Test(arguments: pairs) func twoNames(_ one: String, _ other: String) throws {
    #expect(one == other && ByteText(one) != ByteText(other))
    #expect(Set([ByteText(one), ByteText(other), ByteText(one)]).count == 2)
    #expect(
      Place.local(one) != Place.local(other)
        && Place.remote(endpoint: "a", path: one) == .remote(endpoint: "a", path: one))
    let fixture = try PlanFixture(["rows.txt": "\(one)\n\(other)\n"])
    defer { fixture.remove() }
    let outcome = try fixture.plan(
      """
        - { id: a, download: "web:x", to: "in/\(one)" }
        - { id: b, download: "web:x", to: "in/\(other)" }
        - { id: r, for_each: { list: rows.txt }, download: "web:${each.line}", to: "out/${each.line}" }
      """)
    #expect(outcome.lines == [] && outcome.transfers.count == 4)
    // One name twice is told all the same.
    let twice = try fixture.plan(
      """
        - { id: a, download: "web:x", to: "in/\(one)" }
        - { id: b, download: "web:x", to: "in/./\(one)" }
      """)
    #expect(twice.errors.count == 1)
  }

  @Test(arguments: [
    (".big.bin.0123456789abcdef.haul-part", true), ("d/.big.bin.01234567.haul-part", true),
    (".BIG.0123456789ABCDEF.HAUL-PART", true), ("..0f.haul-part", true), (".caf\u{e9}.0f.haul-part", true),
    ("big.bin.0123456789abcdef.haul-part", false), (".big.bin.tag.haul-part", false), (".haul-part", false),
    (".x.0123.haul-part.bin", false), (".x.0123.haul-part/y", false), ("", false), ("t", false),
    (".x..haul-part", false),
  ])
  func partNames(_ path: String, _ isOne: Bool) { #expect(PartPattern.matches(path) == isOne) }

  /// A file can't be a folder, too: told for what the manifest and rows say, wherever the two stand in the plan.
  @Test(arguments: [
    "d\nd/e\n", "d/e\nd\n", "d/e/f\nx\ny/z\nd/e\n", "a/b/c/d/e\na/b/c\n", "d/x\nd/y\nd\n",
  ])
  func aFileAndAFolder(_ rows: String) throws {
    let fixture = try PlanFixture(["rows.txt": rows])
    defer { fixture.remove() }
    let row = "  - { id: r, for_each: { list: rows.txt }, download: \"web:x\", to: \"out/${each.line}\" }"
    let outcome = try fixture.plan(row)
    #expect(outcome.errors.count == 1, "\(outcome.lines)")
    #expect(outcome.errors.first?.message.contains("is a file") == true)
    #expect(outcome.errors.first?.mark?.file == "jobs/rows.txt")
    let singles = rows.split(separator: "\n").enumerated().map {
      "  - { id: s\($0.offset), download: \"web:x\", to: \"\($0.element)\" }"
    }
    #expect(try fixture.plan(singles.joined(separator: "\n")).errors.count == 1)
    // To a store they are two keys.
    let upload = try fixture.plan(
      "  - { id: r, for_each: { list: rows.txt }, upload: rows.txt, to: \"depot:out/${each.line}\" }")
    #expect(upload.errors.isEmpty, "\(upload.lines)")
  }

  @Test func manyFilesInManyFoldersMeetNothing() throws {
    let rows = (0..<20_000).map { "\($0 % 97)/\($0 % 13)/f\($0)" }.joined(separator: "\n")
    let fixture = try PlanFixture(["rows.txt": rows + "\n"])
    defer { fixture.remove() }
    let row = "  - { id: r, for_each: { list: rows.txt }, download: \"web:x\", to: \"out/${each.line}\" }"
    #expect(try fixture.plan(row).errors.isEmpty)
    try fixture.write("rows.txt", Data((rows + "\n96/12\n").utf8))
    #expect(try fixture.plan(row).errors.count == 1)
  }

  @Test(arguments: ["~/x", "~", "$HOME/x", "~user"]) func whatAShellWouldExpand(_ path: String) throws {
    let fixture = try PlanFixture(["rows.txt": "\(path)\n"])
    defer { fixture.remove() }
    for entry in [
      "{ id: a, download: \"web:x\", to: \"\(path)\" }", "{ id: a, upload: \"\(path)\", to: \"web:x\" }",
      "{ id: a, for_each: { list: rows.txt }, download: \"web:x\", to: \"${each.line}\" }",
      "{ id: a, for_each: { list: rows.txt }, upload: \"${each.line}\", to: \"web:${each.line}\" }",
    ] {
      let outcome = try fixture.plan("  - \(entry)")
      #expect(
        outcome.errors.count == 1 && outcome.lines.first?.contains("does not expand") == true,
        "\(outcome.lines)")
    }
    let named = try fixture.plan("  - { id: a, download: \"web:x\", to: \"./\(path)x\" }")
    #expect(named.errors.isEmpty, "\(named.lines)")
  }

  /// Needs by row mean ids, which hold what is not of an id's letters encoded.
  @Test func needsOfNamesWithSpaces() throws {
    let fixture = try PlanFixture(["rows.csv": "path,after\na b.txt,dl/a%20b.txt\nc%20d\u{e9}.txt,dl/*\n"])
    defer { fixture.remove() }
    let outcome = try fixture.plan(
      """
        - { id: dl, for_each: { csv: rows.csv, key: "${each.path}" }, download: "web:${each.path}", to: "in/${each.path}" }
        - { id: up, for_each: { csv: rows.csv, key: "${each.path}" }, upload: "in/${each.path}", to: "depot:x/${each.path}", needs: ["dl/${each.path}"] }
        - { id: by, for_each: { csv: rows.csv, key: "${each.path}" }, upload: "in/${each.path}", to: "depot:y/${each.path}", needs: ["${each.after}"] }
        - { id: one, upload: x, to: "depot:z", needs: ["dl/a b.txt"] }
      """)
    #expect(outcome.errors.isEmpty, "\(outcome.lines)")
    let needs = outcome.transfers.map(\.settings.needs)
    #expect(needs[2] == ["dl/a%20b.txt"] && needs[3] == ["dl/c%2520d%C3%A9.txt"])
    #expect(needs[4] == ["dl/a%20b.txt"] && needs[5] == ["dl/*"] && needs[6] == ["dl/a%20b.txt"])
    let wrong = try fixture.plan(
      """
        - { id: up, for_each: { csv: rows.csv, key: "${each.path}" }, upload: "in/${each.path}", to: "depot:x/${each.path}", needs: ["up/no ${each.path}"] }
      """)
    #expect(!wrong.errors.isEmpty)
  }

  /// Rows that wait for each other would be queued for ever, and so would those behind them.
  @Test(
    arguments: [
      ("a,l/c\nb,l/a\nc,l/b\n", [2, 3, 4]), ("a,l/c\nb,x\nc,l/d\nd,l/d\n", [2, 4, 5]),
      ("a,l/b\nb,l/c\nc,x\n", []),
    ] as [(String, [Int])])
  func needsOfRowsInACircle(_ rows: String, _ lines: [Int]) throws {
    let fixture = try PlanFixture(["rows.csv": "k,after\n" + rows])
    defer { fixture.remove() }
    let outcome = try fixture.plan(
      """
        - { id: x, download: "web:x", to: x }
        - { id: l, for_each: { csv: rows.csv, key: "${each.k}" }, download: "web:${each.k}", to: "o/${each.k}", needs: ["${each.after}"] }
      """)
    let circles = lines.map { "jobs/rows.csv:\($0):1: error: `needs` runs in a circle" }
    #expect(outcome.lines.count == circles.count, "\(outcome.lines)")
    for (line, circle) in zip(outcome.lines, circles) { #expect(line.hasPrefix(circle)) }
  }

  /// A single transfer that waits for rows, or another fan-out that does, closes a circle as well as a row.
  @Test(
    arguments: [
      ("a,x\nb,y\n", "[l]", [2]), ("a,x\nb,y\n", "[\"l/a*\"]", [2]), ("a,x\nb,y\n", "[l/b]", []),
      ("a,y\nb,x\nc,l/b\n", "[l/c]", [3, 4]), ("a,m/1\nb,y\n", "[y]", []), ("a,m/1\nb,y\n", "[l]", [2]),
      ("a,m\nb,y\n", "[l/a]", [2]), ("a,m\nb,y\n", "[l/b]", []),
    ] as [(String, String, [Int])])
  func needsInACircleAmongTemplates(_ rows: String, _ needsOfX: String, _ lines: [Int]) throws {
    let fixture = try PlanFixture(["rows.csv": "k,after\n" + rows, "one.txt": "1\n"])
    defer { fixture.remove() }
    let outcome = try fixture.plan(
      """
        - { id: x, download: "web:x", to: x, needs: \(needsOfX) }
        - { id: y, download: "web:y", to: y }
        - { id: m, for_each: { list: one.txt, key: "${each.line}" }, download: "web:${each.line}", to: "m/${each.line}", needs: [x] }
        - { id: l, for_each: { csv: rows.csv, key: "${each.k}" }, download: "web:${each.k}", to: "o/${each.k}", needs: ["${each.after}"] }
      """)
    let circles = lines.map { "jobs/rows.csv:\($0):1: error: `needs` runs in a circle" }
    #expect(outcome.lines.count == circles.count, "\(outcome.lines)")
    for (line, circle) in zip(outcome.lines, circles) { #expect(line.hasPrefix(circle)) }
  }

  /// A store's keys: what can't be placed is a transfer that will fail, by itself.
  @Test func keysOfAStore() throws {
    let fixture = try PlanFixture()
    defer { fixture.remove() }
    let keys = [
      "%2e%2e/z", "a//b", "/lead", "//two", "a/./c", "plain", "../up", "x/../../y", "n\0ul", "d/..", "d/.",
      ".big.0123456789abcdef.haul-part", "caf\u{e9}", "cafe\u{301}", "line\nend",
    ]
    for to in ["in/", "./", "in/${source.path}"] {
      let listed = try fixture.plan(
        "  - { id: l, download: \"store:k/\", to: \"\(to)\" }",
        head: PlanFixture.head.replacing(
          "endpoints:\n",
          with: "endpoints:\n  store: { type: s3, url: \"http://127.0.0.1:1\", bucket: b, auth: none }\n")
      ) { _, _, _, entry in for key in keys { try entry(ListedPage.Entry(path: key, size: 1)) } }
      #expect(listed.errors.isEmpty, "\(to): \(listed.lines)")
      let base = to == "./" ? "" : "in/"
      let found = Dictionary(uniqueKeysWithValues: zip(keys.map(ByteText.init), listed.transfers))
      for (key, path) in [
        ("%2e%2e/z", "%2e%2e/z"), ("a//b", "a/b"), ("/lead", "lead"), ("//two", "two"), ("a/./c", "a/c"),
        ("plain", "plain"), ("caf\u{e9}", "caf\u{e9}"), ("cafe\u{301}", "cafe\u{301}"),
        ("line\nend", "line\nend"),
      ] {
        let planned = try #require(found[ByteText(key)])
        #expect(
          planned.destination == .local(base + path) && planned.settings.obstacle == nil, "\(to) \(key)")
      }
      for (key, obstacle) in [
        ("../up", PlacementObstacle.climbs), ("x/../../y", .climbs), ("n\0ul", .nul), ("d/..", .unnamed),
        ("d/.", .unnamed), (".big.0123456789abcdef.haul-part", .partFile),
      ] {
        let planned = try #require(found[ByteText(key)])
        #expect(planned.settings.obstacle == obstacle, "\(to) \(key)")
        #expect(!planned.source.text.utf8.contains(0) && !planned.destination.text.utf8.contains(0))
      }
    }
    let pair = try fixture.plan(
      "  - { id: l, download: \"store:k/\", to: in/ }",
      head: PlanFixture.head.replacing(
        "endpoints:\n",
        with: "endpoints:\n  store: { type: s3, url: \"http://127.0.0.1:1\", bucket: b, auth: none }\n")
    ) { _, _, _, entry in
      for key in ["a//b", "a/b", "d", "d/e"] { try entry(ListedPage.Entry(path: key, size: 1)) }
    }
    #expect(pair.errors.isEmpty && pair.transfers.count == 4)
    #expect(pair.lines.contains { $0.contains("`l/a//b` and `l/a/b` have one destination") }, "\(pair.lines)")
    #expect(pair.lines.contains { $0.contains("`in/d` is a file, of `l/d`, and a folder, of `l/d/e`") })
  }
}
