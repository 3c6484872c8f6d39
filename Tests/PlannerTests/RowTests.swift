import Foundation
import JobModel
import Testing

/// Rows of files: formats, ids, and faults at their place in the row file.
@Suite struct RowTests {
  static let rows = """
      - id: r
        for_each: { csv: f.csv, key: "${each.k}" }
        download: "web:${each.path}"
        to: "out/${each.path}"
        expect: { sha256: "${each.sum|default()}", size: "${each.size}" }

    """

  @Test func `every fault of a row is named`() throws {
    let fixture = try PlanFixture(["f.csv": "k,path,sum,size\nb,,abc,x\n"])
    defer { fixture.remove() }
    #expect(
      try fixture.plan(Self.rows).lines == [
        "jobs/f.csv:2:3: error: `each.path` is empty in this row",
        "jobs/f.csv:2:4: error: `expect.sha256`: a sha256 digest of 3 characters",
        "jobs/f.csv:2:8: error: `expect.size`: `x` is not a size",
      ])
  }

  @Test func `every setting of a row is judged`() throws {
    let fixture = try PlanFixture([
      "f.csv": "k,mode,verify,chunk\na,999,sz,2Mi\nb,0600,size,1MiB\n"
    ])
    defer { fixture.remove() }
    let lines = try fixture.plan(
      """
        - id: r
          for_each: { csv: f.csv, key: "${each.k}" }
          download: "web:${each.k}"
          to: "out/${each.k}"
          mode: "${each.mode}"
          verify: "${each.verify}"
          chunk_size: "${each.chunk}"

      """
    ).lines
    #expect(lines.count == 3, "\(lines.joined(separator: "\n"))")
    for key in ["mode", "verify", "chunk_size"] {
      #expect(lines.contains { $0.hasPrefix("jobs/f.csv:2:") && $0.contains("`\(key)`") }, "\(lines)")
    }
  }

  /// What a transfer may not say itself, its rows may not either.
  @Test(arguments: [
    (
      "download: \"web:${each.k}\", to: \"${each.k}\"", "readback",
      "`verify: readback` reads an upload back: this is a download"
    ),
    (
      "upload: \"${each.k}\", to: \"web:${each.k}\"", "required",
      "`verify: required` can't be met: no digest comes back from an upload there"
    ),
  ])
  func `a level that the direction does not have`(_ places: String, _ level: String, _ message: String) throws
  {
    let fixture = try PlanFixture(["f.csv": "k,v\na,\(level)\nb,available\n"])
    defer { fixture.remove() }
    let outcome = try fixture.plan(
      "  - { id: r, for_each: { csv: f.csv }, \(places), verify: \"${each.v}\" }\n")
    #expect(outcome.lines == ["jobs/f.csv:2:3: error: " + message])
  }

  struct BadRow: CustomTestStringConvertible {
    var csv: String
    var line: String
    var testDescription: String { line }
  }

  @Test(arguments: [
    BadRow(csv: "k,path,sum,size\na,,,\n", line: "jobs/f.csv:2:3: error: `each.path` is empty in this row"),
    BadRow(
      csv: "k,path,sum,size\nä,\"x\ny\",,z\n", line: "jobs/f.csv:3:5: error: `expect.size`: `z` is not a size"
    ),
    BadRow(
      csv: "k,path,sum,size\na,b,c\n",
      line: "jobs/f.csv:2:1: error: the row has 3 cells, and there are 4 columns"),
    BadRow(
      csv: "k,path,sum,size\na,b,abc,\n",
      line: "jobs/f.csv:2:5: error: `expect.sha256`: a sha256 digest of 3 characters"),
    BadRow(csv: "k,path,sum,size\na,\"b,,\n", line: "jobs/f.csv:2:3: error: a quote is not closed"),
    BadRow(
      csv: "k,path,sum,size\na,b\"c,,\n",
      line: "jobs/f.csv:2:4: error: a quote inside a cell that is not quoted"),
    BadRow(csv: "k,path,sum,size\na,\"b\"c,,\n", line: "jobs/f.csv:2:6: error: text after a closing quote"),
    BadRow(csv: "k,path,sum,k\n", line: "jobs/f.csv:1:12: error: two columns are named `k`"),
    BadRow(csv: "k,path,sum\na,b,c\n", line: "jobs/job.yaml:11:54: error: `jobs/f.csv` has no column `size`"),
    BadRow(csv: "", line: "jobs/f.csv:1:1: error: the file has no header row"),
    BadRow(csv: "k,path,sum,size\n\n", line: "jobs/job.yaml:8:22: error: `jobs/f.csv` has no rows"),
    BadRow(
      csv: "k,path,sum,size\na,../x,,\n",
      line: "jobs/f.csv:2:3: error: the destination `out/../x` climbs above the fixed part of `to`"),
    BadRow(
      csv: "k,path,sum,size\na,x/../../y,,\n",
      line: "jobs/f.csv:2:3: error: the destination `out/x/../../y` climbs above the fixed part of `to`"),
    // To Swift, the slash and the combining mark behind it are one character; to the kernel they are two.
    BadRow(
      csv: "k,path,sum,size\na,../\u{301}x,,\n",
      line: "jobs/f.csv:2:3: error: the destination `out/../\u{301}x` climbs above the fixed part of `to`"),
    BadRow(csv: "k,path,sum,size\na,x\u{0}y,,\n", line: "jobs/f.csv:2:3: error: the path holds a NUL byte"),
    BadRow(
      csv: "k,path,sum,size\na,x,,\nb,y,,\na,z,,\n",
      line: "jobs/f.csv:4:1: error: the id `r/a` is taken already, by jobs/f.csv:2:1"),
    BadRow(
      csv: "k,path,sum,size\na,x,,\nb,y,,\nc,./x,,\n",
      line: "jobs/f.csv:4:3: error: `out/x` is the destination of another transfer too, of jobs/f.csv:2:3"),
  ])
  func `a fault of a row`(_ bad: BadRow) throws {
    let fixture = try PlanFixture(["f.csv": bad.csv])
    defer { fixture.remove() }
    let outcome = try fixture.plan(Self.rows)
    #expect(outcome.lines == [bad.line])
  }

  @Test func `each row file without rows is told, whatever else is wrong`() throws {
    let fixture = try PlanFixture(["a.csv": "k\n", "b.csv": "k\n\n", "c.txt": "\n"])
    defer { fixture.remove() }
    func entry(_ id: String, _ rows: String, _ column: String) -> String {
      "  - { id: \(id), for_each: { \(rows) }, download: \"web:${each.\(column)}\", to: \"\(id)/${each.\(column)}\" }\n"
    }
    let outcome = try fixture.plan(
      "  - { id: g, upload: \"none/*\", to: \"web:g/\" }\n" + entry("a", "csv: a.csv", "k")
        + entry("b", "csv: b.csv", "k") + entry("c", "list: c.txt", "line"))
    #expect(
      outcome.errors.map(\.message) == [
        "no file matches `none/*`", "`jobs/a.csv` has no rows", "`jobs/b.csv` has no rows",
        "`jobs/c.txt` has no rows",
      ])
  }

  @Test func `a missing column is told once, and another separator for what it is`() throws {
    let fixture = try PlanFixture(["f.csv": "k;path;sum;size\na;b;c;1\n"])
    defer { fixture.remove() }
    let errors = try fixture.plan(Self.rows.replacing("${each.path}", with: "${each.path}${each.path}"))
      .errors
    #expect(!errors.isEmpty && Set(errors.map(\.message)).count == errors.count, "\(errors.map(\.message))")
    for error in errors {
      #expect(error.hint == "it has k;path;sum;size: the cells of a csv are separated by `,`")
    }
  }

  @Test func `a missing row file is an input that can't be read`() throws {
    let fixture = try PlanFixture()
    defer { fixture.remove() }
    let outcome = try fixture.plan(Self.rows)
    #expect(outcome.lines == ["jobs/job.yaml:8:22: error: `jobs/f.csv` can't be read: there is no such file"])
    #expect(outcome.errors.first?.cause == .unreadableInput)
  }

  /// What could be read of it would be a plan without the rest.
  @Test(arguments: [
    ("csv: f.csv", "k"), ("csv: f.csv, columns: [k]", "k"), ("jsonl: f.csv", "k"),
    ("checksums: f.csv", "path"),
    ("list: f.csv", "line"),
  ])
  func `a row file that can't be read to its end has no rows`(_ rows: String, _ column: String) throws {
    let fixture = try PlanFixture(["f.csv/x": ""])
    defer { fixture.remove() }
    let outcome = try fixture.plan(
      """
        - id: r
          for_each: { \(rows), key: "${each.\(column)}" }
          download: "web:${each.\(column)}"
          to: "${each.\(column)}"
          if_empty: warn

      """)
    #expect(outcome.errors.map(\.message) == ["the file can't be read to its end: Is a directory"])
    #expect(outcome.errors.first?.cause == .unreadableInput)
  }

  @Test func `faults of many rows are all found, a hundred kept`() throws {
    let fixture = try PlanFixture(["f.csv": "k,path,sum,size\n" + String(repeating: "a,,,\n", count: 250)])
    defer { fixture.remove() }
    let outcome = try fixture.plan(Self.rows)
    #expect(outcome.errors.count == 101)
    #expect(outcome.errors.last?.message == "150 more errors like these")
  }

  @Test func `jsonl, checksums, list and a csv without a header`() throws {
    let sum = String(repeating: "0f", count: 32)
    let fixture = try PlanFixture([
      "f.jsonl":
        "{\"p\": \"a\\u00e9\\ud83d\\ude00\", \"n\": 12, \"x\": {\"y\": [1]}, \"e\": null}\r\n\n{\"p\":\"b\",\"n\":\"7\"}",
      "SUMS": "\(sum)  x/y.bin\n\\\(sum) *new\\nline\\\\\n", "l.txt": "one\r\n\ntwo words\n",
      "n.csv": "u,1\nv,2",
    ])
    defer { fixture.remove() }
    let outcome = try fixture.plan(
      """
        - { id: j, for_each: { jsonl: f.jsonl }, download: "web:${each.p}", to: "j/${each.p}", expect: { size: "${each.n}", md5: "${each.e}" } }
        - { id: s, for_each: { checksums: SUMS }, download: "web:${each.path}", to: "s/${each.path}", expect: { sha256: "${each.sha256}" } }
        - { id: l, for_each: { list: l.txt }, download: "web:${each.line|url}", to: "l/${each.line}" }
        - { id: n, for_each: { csv: n.csv, columns: [p, q], key: "${each.q}" }, upload: "${each.p}", to: "depot:n-${source.name}", chunk_size: "${each.q}MiB", headers: { X-Q: "${each.q}" } }
      """)
    #expect(outcome.lines == [])
    #expect(
      outcome.destinations == [
        "j/aé😀", "j/b", "s/x/y.bin", "s/new\nline\\", "l/one", "l/two words", "depot:n-u", "depot:n-v",
      ])
    #expect(outcome.transfers[0].expect.size == 12)
    #expect(outcome.transfers[1].expect.size == 7)
    #expect(outcome.transfers[2].expect.digests[.sha256] == sum)
    #expect(outcome.transfers[3].id == "s/s/new%0Aline%5C")
    #expect(outcome.transfers[5].source == .remote(endpoint: "web", path: "two%20words"))
    #expect(outcome.transfers[6].settings.chunkSize == .bytes(1 << 20))
    #expect(outcome.transfers[7].settings.headers == [HeaderSetting(name: "X-Q", value: .text("2"))])
    #expect(outcome.transfers[7].id == "n/2")
    #expect(outcome.transfers[6].settingsGroup == nil)
    #expect(outcome.transfers[0].settingsGroup == outcome.transfers[1].settingsGroup)
  }

  /// What is expected by a column that no row has would be expected of none.
  @Test func `a column that no row has`() throws {
    let fixture = try PlanFixture(["f.jsonl": "{\"p\": \"a\", \"sha256\": null}\n{\"p\": \"b\"}\n"])
    defer { fixture.remove() }
    for (column, isThere) in [("sha25", false), ("sha25|default()", true), ("sha256", true)] {
      let outcome = try fixture.plan(
        """
          - { id: j, for_each: { jsonl: f.jsonl }, download: "web:${each.p}", to: "j/${each.p}", expect: { sha256: "${each.\(column)}" } }
        """)
      let fault = "jobs/job.yaml:7:108: error: `jobs/f.jsonl` has no column `sha25`"
      #expect(outcome.lines == (isThere ? [] : [fault]), "\(column)")
    }
  }

  @Test func `a signed URL of a row is no identity and is not shown`() throws {
    let fixture = try PlanFixture([
      "u.csv": "u,t\n\"https://h/a?sig=se,cret\",../x\nhttps://h/b?sig=other,b\n"
    ])
    defer { fixture.remove() }
    let outcome = try fixture.plan(
      """
        - { id: r, for_each: { csv: u.csv }, download: "${each.u}", to: "o/${each.t}" }
      """)
    #expect(outcome.errors.count == 1)
    #expect(outcome.errors.first?.lineText?.contains("cret") == false)
    #expect(outcome.errors.first?.lineText?.contains("sig") == false)
    #expect(outcome.transfers.map(\.source) == [.url("https://h/b?sig=other")])
  }

  @Test func `a signed URL's query is in no id, and in no name that is made of the URL`() throws {
    let fixture = try PlanFixture([
      "l.txt": "https://h/a/f1?sig=S1/x\nHTTP://h/f2#S2?S3\n",
      "u.csv": "u,n\nhttps://h/b?sig=S4,1\nhttps://h/b?sig=S5,2\n",
    ])
    defer { fixture.remove() }
    let outcome = try fixture.plan(
      """
        - { id: m, for_each: { list: l.txt }, download: "${each.line}", to: "o/${each.line|basename}" }
        - { id: k, for_each: { list: l.txt, key: "x-${each.line}" }, download: "${each.line}", to: "k/${each.line|basename}", needs: ["m/o/${each.line|basename}"] }
        - { id: e, for_each: { list: l.txt, key: "${each.line|url}" }, download: "${each.line}", to: "e/${each.line|basename}" }
        - { id: t, for_each: { list: l.txt }, download: "${each.line}", to: "t/${each.line}" }
      """)
    #expect(outcome.lines == [])
    #expect(outcome.destinations.prefix(6) == ["o/f1", "o/f2", "k/f1", "k/f2", "e/f1", "e/f2"])
    #expect(
      outcome.transfers.map(\.id) == [
        "m/o/f1", "m/o/f2", "k/x-https%3A//h/a/f1", "k/x-HTTP%3A//h/f2",
        "e/https%253A%252F%252Fh%252Fa%252Ff1",
        "e/HTTP%253A%252F%252Fh%252Ff2", "t/t/https%3A/h/a/f1", "t/t/HTTP%3A/h/f2",
      ])
    #expect(outcome.transfers[2].settings.needs == ["m/o/f1"])
    #expect(outcome.transfers[0].source == .url("https://h/a/f1?sig=S1/x"))

    let twice = try fixture.plan(
      """
        - { id: r, for_each: { csv: u.csv, key: "${each.u}" }, download: "${each.u}", to: "o/${each.n}" }
      """)
    #expect(
      twice.lines == ["jobs/u.csv:3:1: error: the id `r/https%3A//h/b` is taken already, by jobs/u.csv:2:1"])
  }

  @Test(
    arguments: [
      ("basename", "q/b/", nil), ("basename", "q/b", "o/b.txt"), ("basename|default(x)", "q/b/", "o/x.txt"),
      ("default(x)|basename", "q/b/", nil), ("default()|basename", "q/b/", "o/.txt"),
      ("basename|url", "http://h/b/?sig=S", nil),
    ] as [(String, String, String?)])
  func `what a filter leaves empty is a fault`(_ filters: String, _ cell: String, _ to: String?) throws {
    let fixture = try PlanFixture(["f.csv": "n,k\n1,\(cell)\n"])
    defer { fixture.remove() }
    let outcome = try fixture.plan(
      """
        - { id: r, for_each: { csv: f.csv, key: "${each.n}" }, download: "web:${each.n}", to: "o/${each.k|\(filters)}.txt" }
      """)
    #expect(outcome.destinations == [to].compactMap { $0 })
    guard to == nil else { return }
    #expect(
      outcome.lines == ["jobs/f.csv:2:3: error: `|basename` of `each.k` is empty: the value ends in `/`"])
  }

  @Test func `long files are read across blocks`() throws {
    let text =
      "k,path,sum,size\r\n" + (0..<60_000).map { "\"k\($0)\",\"dir \"\"q\"\"\n/\($0)\",,\($0)\r\n" }.joined()
    let fixture = try PlanFixture(["f.csv": text])
    defer { fixture.remove() }
    let outcome = try fixture.plan(Self.rows)
    #expect(outcome.lines == [])
    #expect(outcome.transfers.count == 60_000)
    #expect(outcome.transfers.last?.destination == .local("out/dir \"q\"\n/59999"))
    #expect(outcome.transfers.last?.mark.line == 2 + 59_999 * 2)
    #expect(Set(outcome.transfers.map(\.settingsGroup)).count == 1)
  }
}
