import Endpoints
import Foundation
import JobModel
import Testing

/// Destinations, values of the run, disabled transfers and needs across fan-outs.
@Suite struct PlanTests {
  @Test func `values of the run are no identity`() throws {
    let fixture = try PlanFixture(["a": "x", "d/2026-07-30.csv": ""])
    defer { fixture.remove() }
    let outcome = try fixture.plan(
      """
        - { id: a, upload: a, to: "web:${run.date}/${uuid}/" }
        - { id: b, download: "http://h/x?sig=1", to: "in/${run.id}.bin" }
        - { id: c, upload: "d/${run.date}*", to: "web:c/" }
        - { id: d, upload: missing, to: "https://h/up/" }
      """)
    #expect(outcome.lines == [])
    #expect(
      outcome.destinations == [
        "web:2026-07-30/uuid-of-a/a", "in/RUN1.bin", "web:c/2026-07-30.csv", "https://h/up/missing",
      ])
    #expect(outcome.transfers[0].destinationIdentity == "web:${run.date}/uuid-of-a/a")
    #expect(outcome.transfers[1].destinationIdentity == "in/${run.id}.bin")
    #expect(outcome.transfers[1].source == .url("http://h/x?sig=1"))
    #expect(outcome.transfers[3].knownSize == nil)
  }

  @Test func `what a fan-out makes meets the others`() throws {
    let fixture = try PlanFixture(["m/a": "", "m/b": "", "l": "a\nb\n"])
    defer { fixture.remove() }
    let outcome = try fixture.plan(
      """
        - { id: m, upload: "m/*", to: "depot:x/" }
        - { id: one, upload: m/a, to: "depot:x/b" }
        - { id: two, upload: m/a, to: "depot:y", needs: [m/c] }
      """)
    #expect(
      outcome.lines == [
        "jobs/job.yaml:8:33: error: `depot:x/b` is the destination of another transfer too, of jobs/job.yaml:7:33"
      ])
    let needs = try fixture.plan(
      """
        - { id: m, upload: "m/*", to: "depot:x/" }
        - { id: two, upload: m/a, to: "depot:y", needs: [m/c] }
        - { id: r, for_each: { list: l }, download: "web:${each.line}", to: "${each.line}", needs: ["m/${each.line}"] }
        - { id: s, for_each: { list: l }, download: "web:${each.line}", to: "s/${each.line}", needs: ["n/${each.line}"] }
      """)
    #expect(
      needs.lines == [
        "jobs/l:1:1: error: `n/a` in `needs` matches no transfer",
        "jobs/l:2:1: error: `n/b` in `needs` matches no transfer",
      ])
  }

  /// What is one file under several spellings has one writer: what two listings, or two names of a store, come to as well.
  @Test func `one place under several names`() throws {
    let fixture = try PlanFixture()
    defer { fixture.remove() }
    let head = """
      version: 1
      job: test
      endpoints:
        store: { type: s3, url: "http://127.0.0.1:1", bucket: b, auth: none }
        d: { type: webdav, url: "http://127.0.0.1:2/dav" }
        e: { type: webdav, url: "http://127.0.0.1:2/" }
        f: { type: webdav, url: "http://127.0.0.1:3/dav" }
        s: { type: s3, url: "http://127.0.0.1:2", bucket: b, auth: none }
        t: { type: s3, url: "http://127.0.0.1:2/", bucket: b, auth: none }
      transfers:

      """
    let places = [
      ("d:u/f", "d:u//f", true), ("d:/u/f", "d:u/f", true), ("d:u/f", "e:dav/u/f", true),
      ("d:u/f", "f:u/f", false), ("s:u/f", "s:u//f", false), ("s:u/f", "store:u/f", false),
      ("s:u/f", "t:u/f", true),
      ("d:u/f", "d:u/F", false),
    ]
    for (one, other, isOne) in places {
      let outcome = try fixture.plan(
        "  - { id: a, copy: \"http://127.0.0.1:9/x\", to: \"\(one)\" }\n"
          + "  - { id: b, copy: \"http://127.0.0.1:9/y\", to: \"\(other)\" }", head: head)
      let faults = outcome.errors.map(\.message)
      let fault = "`\(other)` is the destination of another transfer too, of jobs/job.yaml:11:48"
      #expect(faults == (isOne ? [fault] : []), "\(one) \(other) \(outcome.lines)")
    }
    for (to, isOne) in [("d:m/", true), ("s:m/", true), ("in/", false)] {
      let verb = isOne ? "copy" : "download"
      let outcome = try fixture.plan(
        "  - { id: a, \(verb): \"store:p/\", to: \"\(to)\" }\n"
          + "  - { id: b, \(verb): \"store:q/\", to: \"\(to)\" }", head: head
      ) { _, _, _, entry in try entry(ListedPage.Entry(path: "x", size: 1)) }
      #expect(
        outcome.errors.map(\.message) == (isOne ? ["`a/x` and `b/x` have one destination, `\(to)x`"] : []))
      #expect(outcome.diagnostics.count == 1, "\(outcome.lines)")
    }
    // What a listing gave and the destination's kind refuses fails by itself.
    for (to, key, obstacle) in [
      ("d:m/", "a/../b", PlacementObstacle.unfit), ("d:", "./x", .unfit), ("d:m/", "../b", .climbs),
      ("s:m/", "a/../b", nil),
    ] {
      let outcome = try fixture.plan("  - { id: a, copy: \"store:p/\", to: \"\(to)\" }", head: head) {
        _, _, _, entry in
        for key in [key, "fine"] { try entry(ListedPage.Entry(path: key, size: 1)) }
      }
      #expect(outcome.errors.isEmpty, "\(outcome.lines)")
      #expect(outcome.transfers.map(\.settings.obstacle) == [obstacle, nil], "\(to) \(key)")
    }
  }

  /// Each run would copy what the run before has made.
  @Test func `a prefix copied into itself`() throws {
    let fixture = try PlanFixture()
    defer { fixture.remove() }
    let head = """
      version: 1
      job: test
      endpoints:
        d: { type: webdav, url: "http://127.0.0.1:2/dav" }
        e: { type: webdav, url: "http://127.0.0.1:2/" }
        s: { type: s3, url: "http://127.0.0.1:2", bucket: b, auth: none }
        t: { type: s3, url: "http://127.0.0.1:2/", bucket: b, auth: none }
        u: { type: s3, url: "http://127.0.0.1:2", bucket: c, auth: none }
      transfers:

      """
    let (sub, raw) = (", exclude: [sub/]", ", include: [\"*.raw\"]")
    let copies = [
      ("s:own/", "s:own/sub/", "", true), ("s:", "s:sub/", "", true), ("s:own/", "t:own/sub/", raw, true),
      ("s:own/", "s:own/${source.stem}.bak", "", true), ("d:own/", "e:dav//own/sub/", "", true),
      ("s:own/", "s:own/sub/", sub, false), ("s:own/", "s:own/${source.stem}.bak", raw, false),
      ("s:own/", "s:owned/", "", false), ("s:own/", "u:own/sub/", "", false),
    ]
    for (from, to, filter, grows) in copies {
      let outcome = try fixture.plan("  - { id: a, copy: \"\(from)\", to: \"\(to)\"\(filter) }", head: head) {
        _, _, _, entry in
        for path in ["x.raw", "y/z.raw"] { try entry(ListedPage.Entry(path: path, size: 1)) }
      }
      #expect(outcome.errors.count == (grows ? 2 : 0), "\(from) \(to) \(outcome.lines)")
      #expect(
        outcome.errors.allSatisfy {
          $0.message.hasSuffix("lies below `\(from)`: the next run would copy the copy too")
        }, "\(outcome.lines)")
    }
  }

  /// A console shows a folder by an empty object `d/`; one with bytes is an object that another store can keep.
  @Test func `names that end in a slash`() throws {
    let fixture = try PlanFixture()
    defer { fixture.remove() }
    let head = """
      version: 1
      job: test
      endpoints:
        d: { type: webdav, url: "http://127.0.0.1:2/dav" }
        s: { type: s3, url: "http://127.0.0.1:2", bucket: b, auth: none }
        t: { type: s3, url: "http://127.0.0.1:3", bucket: b, auth: none }
      transfers:

      """
    for (entry, made) in [
      ("copy: \"s:p/\", to: \"t:q/\"", ["t:q/full/", "t:q/x"]),
      ("copy: \"s:p/\", to: \"t:\"", ["t:full/", "t:x"]),
      ("copy: \"s:p/\", to: \"t:${source.path}\"", ["t:x"]), ("copy: \"s:p/\", to: \"d:q/\"", ["d:q/x"]),
      ("download: \"s:p/\", to: q/", ["q/x"]),
    ] {
      let outcome = try fixture.plan("  - { id: a, \(entry) }", head: head) { _, _, _, entry in
        for (path, size) in [("", 3), ("empty/", 0), ("full/", 3), ("x", 3)] {
          try entry(ListedPage.Entry(path: path, size: Int64(size)))
        }
      }
      #expect(outcome.destinations == made && outcome.errors.isEmpty, "\(entry) \(outcome.lines)")
      #expect(outcome.diagnostics.count == 1, "\(entry) \(outcome.lines)")
    }
  }

  /// What is requested tells the files of a web server apart, whatever names them.
  @Test func `one URL under several names`() throws {
    let fixture = try PlanFixture()
    defer { fixture.remove() }
    let head = """
      version: 1
      job: test
      endpoints:
        d: { type: webdav, url: "http://h.test/d" }
        k: { type: http, url: "http://h.test/d", auth: { bearer: { env: HOME } } }
        o: { type: http, url: "http://h.test/d", headers: { X-Account: other } }
        s: { type: session, url: "http://h.test/d" }
        store: { type: s3, url: "http://127.0.0.1:1", bucket: b, auth: none }
        u: { type: http, url: "http://h.test/x/../%64" }
        v: { type: http, url: "http://H.test:80/" }
        w: { type: http, url: "http://h.test/d" }
      transfers:

      """
    let places = [
      ("w:x", "w:/x", true), ("w:a/x", "w:a//x", true), ("w:x", "w:a/../x", true), ("w:x", "w:./x", true),
      ("w:x", "w:../d/x", true), ("w:x", "v:d/x", true), ("w:x", "u:x", true), ("w:x", "d:x", true),
      ("w:x", "k:x", true), ("w:x", "http://h.test/d/x", true), ("http://h.test/d/x", "k:x", true),
      ("w:x", "HTTP://H.TEST:80/%64/./x#f", true), ("w:a b,c", "http://h.test/d/a%20b,c", true),
      ("http://h.test/y?sig=secret#1", "http://h.test/y?sig=secret#2", true),
      ("w:x", "w:X", false), ("w:x", "s:x", false), ("w:x", "o:y", false),
      ("w:x", "https://h.test/d/x", false),
      ("w:x", "http://h.test/d/x?sig=secret", false), ("http://h.test/y?a=1", "http://h.test/y?a=2", false),
      ("w:a?b", "http://h.test/d/a?b", false), ("w:a%20b", "http://h.test/d/a%20b", false),
      ("w:a/b", "http://h.test/d/a%2Fb", false), ("http://h.test/%FF", "http://h.test/%FE", false),
    ]
    func two(_ one: String, _ other: String) throws -> [String] {
      try fixture.plan(
        "  - { id: a, copy: \"store:x\", to: \"\(one)\" }\n  - { id: b, copy: \"store:y\", to: \"\(other)\" }",
        head: head
      ).errors.map(\.message)
    }
    func copy(_ one: String, _ other: String) throws -> [String] {
      try fixture.plan("  - { id: a, copy: \"\(one)\", to: \"\(other)\" }", head: head).errors.map(\.message)
    }
    let itself = ["the source and the destination are one"]
    for (one, other, isOne) in places {
      let faults = try two(one, other)
      #expect(faults.count == (isOne ? 1 : 0), "\(one) \(other) \(faults)")
      #expect(faults.allSatisfy { $0.contains("is the destination of another transfer too") }, "\(faults)")
      #expect(faults.allSatisfy { !$0.contains("secret") }, "\(faults)")
      #expect(try copy(one, other) == (isOne ? itself : []), "\(one) \(other)")
    }
    // Two accounts may have two files, but nothing says that what is copied is not the same.
    #expect(try two("k:x", "o:x") == [])
    #expect(try copy("k:x", "o:x") == itself)
    let listed = try fixture.plan("  - { id: a, copy: \"store:p/\", to: \"w:\" }", head: head) {
      _, _, _, entry in
      for key in ["x", "/x"] { try entry(ListedPage.Entry(path: key, size: 1)) }
    }
    #expect(listed.errors.map(\.message) == ["`a/x` and `a//x` have one destination, `w:/x`"])
  }

  private static let store = """
    version: 1
    job: test
    endpoints:
      store: { type: s3, url: "http://127.0.0.1:1", bucket: b }
    transfers:

    """

  @Test func `folders, disabled transfers and listings`() throws {
    let fixture = try PlanFixture(["m/a": ""])
    defer { fixture.remove() }
    let outcome = try fixture.plan(
      """
        - { id: off, for_each: { csv: none.csv }, download: "web:${each.x}", to: "${each.x}", enabled: false }
        - { id: dir, upload: m, to: "depot:m" }
        - { id: list, download: "web:2026/", to: in/ }
      """)
    #expect(outcome.ids == ["off"])
    #expect(
      outcome.lines == [
        "jobs/job.yaml:8:24: error: the source `m` is a folder",
        "jobs/job.yaml:9:27: error: listing http endpoints is not supported",
      ])
    let job = "  - { id: list, download: \"store:2026/\", to: in/ }"
    let listed = try fixture.plan(job, head: Self.store) { _, prefix, _, entry in
      #expect(prefix == "2026/")
      for (path, size) in [("", 0), ("a/b", 3), ("d/", 0), ("../c", 4)] {
        try entry(ListedPage.Entry(path: path, size: Int64(size)))
      }
    }
    #expect(listed.transfers.map(\.source.text) == ["store:2026/a/b", "store:2026/../c"])
    #expect(listed.lines.contains { $0.contains("skipped: the name `d/` ends in `/`") }, "\(listed.lines)")
    let links = try fixture.plan(job, head: Self.store) { _, _, _, entry in
      try entry(ListedPage.Entry(path: "a", size: 3))
      for path in ["l", "m/l"] { try entry(ListedPage.Entry(path: path, size: nil, nonFile: .link)) }
      try entry(ListedPage.Entry(path: "pipe", size: nil, nonFile: .special))
    }
    #expect(links.ids == ["list/a"])
    #expect(
      links.diagnostics.map(\.message) == [
        "2 symbolic links are left out: `store:2026/l`, `store:2026/m/l`",
        "`store:2026/pipe` is not a regular file and is left out",
      ])
    // Without a lister nothing is said of what lies there.
    let unasked = try fixture.plan(job, head: Self.store)
    #expect(unasked.transfers.isEmpty && unasked.lines.isEmpty)
    #expect(listed.destinations == ["in/a/b", "in/..%2Fc"])
    #expect(listed.transfers.map(\.settings.obstacle) == [nil, .climbs] && listed.errors.isEmpty)
  }

  @Test func `a disabled fan-out is needed by its own id`() throws {
    let fixture = try PlanFixture(["m/a": ""])
    defer { fixture.remove() }
    let outcome = try fixture.plan(
      """
        - { id: off, for_each: { list: none }, download: "web:${each.line}", to: "${each.line}", enabled: false }
        - { id: a, upload: m/a, to: "depot:a", needs: [off] }
        - { id: b, upload: m/a, to: "depot:b", needs: ["off/x"] }
        - { id: c, upload: m/a, to: "depot:c", needs: ["off/*"] }
      """)
    #expect(outcome.lines == [] && outcome.ids == ["off", "a", "b", "c"])
    #expect(outcome.transfers.dropFirst().map(\.settings.needs) == [["off"], ["off"], ["off/*", "off"]])
  }

  @Test(
    arguments: [
      ("f", true), ("'f/*'", true), ("'**'", true), ("'f/x*'", true), ("f/x", false), ("'g/x*'", false),
    ])
  func `a fan-out that may be empty is needed by globs, too`(_ need: String, _ isMet: Bool) throws {
    let fixture = try PlanFixture(["m/a": ""])
    defer { fixture.remove() }
    let outcome = try fixture.plan(
      """
        - { id: f, upload: "none/*", to: "depot:x/", if_empty: warn }
        - { id: g, upload: "m/*", to: "depot:y/", if_empty: warn }
        - { id: a, download: "web:a", to: a, needs: [\(need)] }
      """)
    #expect(outcome.errors.isEmpty == isMet, "\(outcome.lines)")
  }

  /// `check` lists nothing: what lies below a prefix is not known.
  @Test func `what is needed of a prefix that nobody lists`() throws {
    let fixture = try PlanFixture(["l": "x\n"])
    defer { fixture.remove() }
    let job = """
        - { id: p, download: "store:in/", to: in/ }
        - { id: a, download: "web:a", to: a, needs: ["p/*"] }
        - { id: b, download: "web:b", to: b, needs: [p/x] }
        - { id: r, for_each: { list: l }, download: "web:${each.line}", to: "r/${each.line}", needs: ["p/${each.line}"] }
      """
    let head = PlanFixture.head.replacing(
      "endpoints:\n", with: "endpoints:\n  store: { type: s3, url: \"http://127.0.0.1:1\", bucket: b }\n")
    #expect(try fixture.plan(job, head: head).lines.isEmpty)
    let listed = try fixture.plan(job, head: head, lister: { _, _, _, _ in })
    #expect(listed.errors.count == 2, "\(listed.lines)")
  }

  @Test func `a link does not lead a destination out`() throws {
    let fixture = try PlanFixture()
    defer { fixture.remove() }
    try FileManager.default.createSymbolicLink(
      atPath: fixture.folder.appendingPathComponent("out").path, withDestinationPath: "/tmp")
    let outcome = try fixture.plan(
      """
        - { id: a, download: "web:x", to: out/x }
        - { id: b, download: "web:x", to: out/y, allow_outside: true }
        - { id: c, download: "web:x", to: "\(fixture.folder.path)/in/z" }
      """)
    #expect(
      outcome.errors.map(\.message) == [
        "the destination leaves the manifest's folder: `out` is a symbolic link out of it"
      ])
    #expect(outcome.destinations == ["out/y", "in/z"])
  }

  @Test func `a link that leads out is no destination`() throws {
    let fixture = try PlanFixture(["rows.txt": "f-dead\nf-in\n"])
    defer { fixture.remove() }
    for (name, target) in [("f-out", "/etc/hostname"), ("f-dead", "../nowhere"), ("f-in", "rows.txt")] {
      try FileManager.default.createSymbolicLink(
        atPath: fixture.folder.appendingPathComponent(name).path, withDestinationPath: target)
    }
    let outcome = try fixture.plan(
      """
        - { id: a, download: "web:x", to: f-out }
        - { id: b, for_each: { list: rows.txt }, download: "web:x", to: "${each.line}" }
        - { id: c, download: "web:x", to: ./f-out, allow_outside: true, enabled: false }
      """)
    #expect(
      outcome.errors.map(\.message) == [
        "the destination `f-out` is a symbolic link out of the manifest's folder",
        "the destination `f-dead` is a symbolic link out of the manifest's folder",
      ])
    #expect(outcome.destinations.contains("f-in"))
  }

  /// Below a folder that is not there nothing is looked at; beside it everything is, in whatever order rows come.
  @Test func `a folder that is not there hides no link beside it`() throws {
    let fixture = try PlanFixture([
      "rows.txt": "no/a/x\nno/a/y\nno/b\nlinks/out\nn\nnone\nno/../out\nnob\nno/c\n"
    ])
    defer { fixture.remove() }
    try fixture.write("links/in", Data())
    for name in ["links/out", "out", "nob"] {
      try FileManager.default.createSymbolicLink(
        atPath: fixture.folder.appendingPathComponent(name).path, withDestinationPath: "/etc/hostname")
    }
    let outcome = try fixture.plan(
      "  - { id: b, for_each: { list: rows.txt }, download: \"web:x\", to: \"${each.line}\" }")
    #expect(
      outcome.errors.map(\.message)
        == ["links/out", "out", "nob"].map {
          "the destination `\($0)` is a symbolic link out of the manifest's folder"
        })
    #expect(outcome.destinations == ["no/a/x", "no/a/y", "no/b", "n", "none", "no/c"])
  }

  @Test func `what each throws comes through`() throws {
    struct Stop: Error {}
    let fixture = try PlanFixture(["l": "a\nb\n"])
    defer { fixture.remove() }
    #expect(throws: Stop.self) {
      try fixture.plan("  - { id: a, download: \"store:2026/\", to: in/ }", head: Self.store) { _, _, _, _ in
        throw Stop()
      }
    }
  }
}
