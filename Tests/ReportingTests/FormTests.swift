import Foundation
import JobModel
import TestSupport
import Testing

@testable import Reporting

private typealias JSON = JobModel.JSON

/// The forms of a report, read back by programs that know nothing of haul.
@Suite struct FormTests {
  private static let hostile = [
    "<script>alert(1)</script>", "=cmd|' /C calc'!A0", "+1", "-1+1", "@SUM(1)", "\tx", "a,b", "a\"b",
    "a\r\nb", "\u{202E}fdp.exe", "a\u{0}b", "\u{1b}[31m", "]]>", "&amp;", "\u{FFFE}", "\"\u{301}", "＝1", "-",
    "a\\b",
    "</title>", "'", " lead",
  ]

  private func written(_ form: ReportForm, _ report: any Report) throws -> String {
    let out = Collector()
    try form.write(report, to: out.take)
    return out.text
  }

  /// Runs a Python script with the text on its standard input; what it prints, as JSON.
  private func python(_ script: String, _ text: String) throws -> Document {
    let scratch = try Scratch()
    let path = try scratch.write("in", text)
    let process = Process()
    process.executableURL = URL(filePath: "/usr/bin/env")
    process.arguments = ["python3", "-c", "import json, sys\nf = open(sys.argv[1], 'rb')\n" + script, path]
    let output = Pipe()
    process.standardOutput = output
    try process.run()
    let told = output.fileHandleForReading.readDataToEndOfFile()
    process.waitUntilExit()
    try #require(process.terminationStatus == 0)
    return try Document(Array(told))
  }

  private func failed(_ id: String) -> JSON {
    [
      "id": .string(id), "state": "failed", "destination": .string(id),
      "error": ["code": "NOT_FOUND", "message": .string(id), "hint": .string(id)],
    ]
  }

  @Test(arguments: [
    ("a.json", ReportForm.json), ("a/b.jsonl", .jsonl), ("x.ndjson", .jsonl), ("R.CSV", .csv),
    ("t.xml", .junit),
    ("haul.prom", .prometheus), ("SHA256SUMS", .sha256sums), ("x.sha256", .sha256sums), ("x.txt", .text),
    ("report", nil), ("csv/report", nil), ("a.csv.gz", nil), ("", nil),
  ])
  func `a form is told by the suffix`(path: String, form: ReportForm?) {
    #expect(ReportForm(path: path) == form)
  }

  @Test func `rows of hostile texts are rows, and no cell is a formula`() throws {
    let text = try written(.csv, GivenReport(items: Self.hostile.map(failed)))
    let read = try python(
      "import csv, io\nprint(json.dumps(list(csv.reader(io.StringIO(f.read().decode(), newline='')))))", text)
    let rows = read.array.map { $0.array.map { $0.text ?? "" } }
    #expect(rows.count == Self.hostile.count + 1 && rows.allSatisfy { $0.count == CSVForm.columns.count })
    for (row, id) in zip(rows.dropFirst(), Self.hostile) {
      let isFormula = id.unicodeScalars.first.map { "=+-@\t＝".unicodeScalars.contains($0) } ?? false
      let told = (isFormula ? "'" : "") + id.replacing("\0", with: "\u{FFFD}")
      #expect(ByteText(row[0]) == ByteText(told))
      #expect(!row.contains { $0.hasPrefix("=") || $0.hasPrefix("@") || $0.hasPrefix("\t") })
    }
    #expect(text.hasSuffix("\r\n") && text.hasPrefix("id,direction,state,"))
  }

  /// Spreadsheets ask for the separator, or guess it: by each of them the cell behind it is text.
  @Test func `no cell is a formula under another separator`() throws {
    let texts = [
      "a;=1+1", "a;=1+1;+2", "a; =1+1", "a;\"=1+1\"", "a\t=1+1", "a|@x", "a\n=1+1", "a\r\n-1", ";=1", "  =1",
      "\"=1",
      "a;＝1",
    ]
    let text = try written(.csv, GivenReport(items: texts.map(failed)))
    for separator in [",", ";", "\t", "|"] {
      let read = try python(
        "import csv, io\nprint(json.dumps(list(csv.reader(io.StringIO(f.read().decode(), newline=''), delimiter='\(separator)'))))",
        text)
      let cells = read.array.flatMap { $0.array.map { $0.text ?? "" } }
      for cell in cells {
        let first = cell.unicodeScalars.first { $0 != " " && $0 != "\"" }
        #expect(!(first.map { "=+-@＝".unicodeScalars.contains($0) } ?? false), "\(separator): \(cell)")
      }
      #expect(cells.contains { $0.contains("'=1+1") })
    }
  }

  /// A member that the report gains needs a column.
  @Test func `each member of a transfer has its column, and numbers stay numbers`() async throws {
    func paths(_ value: JSON, _ name: String) -> [String] {
      guard let members = value.members else { return [name] }
      return members.flatMap { paths($0.value, name.isEmpty ? $0.name : name + "." + $0.name) }
    }
    let job = try await SampleJob()
    let report = LedgerReport(job.head, ledger: job.ledger, describe: SampleJob.wire)
    var missing: Set<String> = []
    var count = 0
    _ = try report.transfers(.every) { transfer in
      count += 1
      missing.formUnion(paths(transfer, "").filter { !["error", "digests", "policy"].contains($0) })
    }
    missing.subtract(CSVForm.columns)
    #expect(missing.isEmpty && count == 9, "\(missing)")
    let read = try python(
      "import csv, io\nprint(json.dumps(list(csv.DictReader(io.StringIO(f.read().decode(), newline='')))))",
      try written(.csv, report))
    let done = try #require(read.array.first { $0["id"].text == "done" })
    #expect(done["bytes.transferred"].text == "700" && done["duration_s"].text == "0.25")
    #expect(done["verification"].text == "sha256/server/match" && done["error.code"].text == "")
    let broken = try #require(read.array.first { $0["id"].text == "broken" })
    #expect(broken["error.code"].text == "INTEGRITY_MISMATCH" && broken["error.retryable"].text == "false")
    #expect(read.array.allSatisfy { $0["retries"].text.flatMap(Int.init) != nil })
  }

  @Test func `lines are the report's own transfers behind its head`() async throws {
    let job = try await SampleJob()
    let report = LedgerReport(job.head, ledger: job.ledger, describe: SampleJob.wire)
    let lines = try written(.jsonl, report).split(separator: "\n").map { try Document(Array($0.utf8)) }
    let whole = Collector()
    try report.writeJSON(to: whole.take)
    let json = try Document(whole.bytes)
    #expect(lines[0].keys == json.keys.subtracting(["transfers"]) && lines.count == 10)
    for (line, transfer) in zip(lines.dropFirst(), json["transfers"].array) {
      #expect((line.value as? NSDictionary) == (transfer.value as? NSDictionary))
    }
    #expect(lines[0]["policies"].keys == ["p1"])
  }

  private static let readJUnit = """
    import xml.etree.ElementTree as t
    s = t.parse(f).getroot()[0]
    print(json.dumps({"suite": s.attrib, "cases": [[c.attrib["name"], [[e.tag, e.attrib, e.text] for e in c]] for c in s.iter("testcase")],
      "told": s.findtext("system-err")}))
    """

  @Test func `a suite has a case for each transfer`() async throws {
    let job = try await SampleJob()
    let suite = try python(
      Self.readJUnit, written(.junit, LedgerReport(job.head, ledger: job.ledger, describe: SampleJob.wire)))
    let facts = suite["suite"]
    #expect(facts["name"].text == "nightly" && facts["hostname"].text == "build-1")
    #expect(facts["tests"].text == "9" && facts["failures"].text == "2" && facts["errors"].text == "0")
    #expect(facts["skipped"].text == "5" && facts["time"].text == "12.5")
    #expect(facts["timestamp"].text == "2023-11-14T22:13:20")
    let ends = suite["cases"].array.map { "\($0[0].text ?? "") \($0[1, 0, 0].text ?? "passed")" }
    #expect(
      ends == [
        "done passed", "same passed", "broken failure", "slow failure", "held skipped", "gone skipped",
        "waiting skipped", "off skipped", "orphan skipped",
      ])
    let broken = suite["cases", 2, 1, 0]
    #expect(broken[1, "type"].text == "INTEGRITY_MISMATCH")
    #expect(broken[2].text?.contains("hint: " + ErrorCode.integrityMismatch.hint) == true)
    #expect(suite["cases", 6, 1, 0, 1, "message"].text == "queued: needs:slow")
    #expect(suite["told"].text?.contains("job.yaml:12:5: warning: redirected") == true)
  }

  @Test func `hostile texts are text in XML`() throws {
    let text = try written(.junit, GivenReport(items: Self.hostile.map(failed)))
    let names = try python(Self.readJUnit, text)["cases"].array.map { $0[0].text ?? "" }
    #expect(names.count == Self.hostile.count)
    for (name, id) in zip(names, Self.hostile) {
      #expect(ByteText(name) == ByteText(id == "\u{FFFE}" ? "\\u{fffe}" : DisplayText.safe(id)))
    }
    #expect(!text.contains("\u{202E}") && !text.contains("<script>"))
  }

  @Test func `a run that came to no transfer is an error to a CI server`() throws {
    let report = GivenReport(
      top: [
        "job": ["manifest": "job.yaml"], "run": ["outcome": "invalid", "exit_code": .integer(65)],
        "diagnostics": .array([["severity": "error", "message": "unknown key", "place": "job.yaml:1:2"]]),
      ])
    let suite = try python(Self.readJUnit, try written(.junit, report))
    #expect(suite["suite", "errors"].text == "1" && suite["suite", "tests"].text == "1")
    #expect(suite["cases", 0, 1, 0, 1, "message"].text == "unknown key")
  }

  @Test func `gauges say how the run stands`() async throws {
    let job = try await SampleJob()
    let text = try written(
      .prometheus, LedgerReport(job.head, ledger: job.ledger, describe: SampleJob.wire))
    for line in [
      "haul_job_last_run_timestamp_seconds{job=\"nightly\"} 1700000012.5",
      "haul_job_last_success_timestamp_seconds{job=\"nightly\"} 0",
      "haul_job_duration_seconds{job=\"nightly\"} 12.5", "haul_job_exit_code{job=\"nightly\"} 1",
      "haul_job_transfers{job=\"nightly\",state=\"failed\"} 1",
      "haul_job_transfers{job=\"nightly\",state=\"paused\"} 2",
      "haul_job_bytes{job=\"nightly\",kind=\"transferred\"} 900",
      "haul_job_bytes{job=\"nightly\",kind=\"discarded\"} 200",
      "haul_job_verified_transfers{job=\"nightly\"} 1", "haul_job_unverified_transfers{job=\"nightly\"} 1",
      "haul_job_retries{job=\"nightly\"} 9",
    ] {
      #expect(text.contains("\n" + line + "\n"), "\(line)")
    }
    let lines = text.split(separator: "\n")
    let types = lines.filter { $0.hasPrefix("# TYPE ") && $0.hasSuffix(" gauge") }
    #expect(types.count == 9 && Set(types).count == 9)
    let hostile = try written(
      .prometheus, GivenReport(top: ["job": ["name": "a\"b\\c\nd"], "run": ["exit_code": .integer(0)]]))
    #expect(hostile.contains("haul_job_exit_code{job=\"a\\\"b\\\\c\\nd\"} 0\n"))
  }

  @Test func `coreutils takes the sums, whatever the files are called`() throws {
    let scratch = try Scratch()
    let folder = try scratch.folder("files")
    let names = Self.hostile.filter { !$0.contains("/") && !$0.contains("\0") }
    let digest = "6e340b9cffb37a989ca544e6bb780a2c78901d3fb33738768511a30617afa01d"
    func checks(_ name: String, _ result: String) -> JSON {
      .array([["check": .string(name), "against": "server", "result": .string(result)]])
    }
    let items: [JSON] = try names.map { name in
      try Data([0]).write(to: URL(fileURLWithPath: folder + "/" + name))
      return [
        "id": .string(name), "state": "completed", "direction": "download", "destination": .string(name),
        "digests": ["sha256": .string(digest)], "verification": checks("md5", "match"),
      ]
    }
    // Of the first three nothing but haul's own sum is known: a list of what was proved would say more than is so.
    let unproved: [JSON] = [
      [
        "id": "s", "state": "completed", "direction": "download", "destination": "none",
        "digests": ["sha256": .string(digest)], "verification": checks("size", "match"),
      ],
      [
        "id": "u", "state": "completed", "direction": "download", "destination": "none",
        "digests": ["sha256": .string(digest)], "verification": checks("sha256", "unavailable"),
      ],
      [
        "id": "n", "state": "up_to_date", "direction": "upload", "source": "none",
        "digests": ["sha256": .string(digest)],
      ],
      ["id": "x", "state": "completed", "direction": "download", "destination": "none"],
      [
        "id": "y", "state": "failed", "direction": "download", "destination": "none",
        "digests": ["sha256": "0"],
      ],
    ]
    let list = try scratch.write("SHA256SUMS", written(.sha256sums, GivenReport(items: items + unproved)))
    let told = try Sums.shell("sha256sum --strict -c '\(list)'", in: folder)
    #expect(told.split(separator: "\n").count { $0.hasSuffix(": OK") } == names.count, "\(told)")
  }

  @Test func `a stored report has the same forms`() async throws {
    let job = try await SampleJob(extra: 40)
    let report = LedgerReport(job.head, ledger: job.ledger, describe: SampleJob.wire)
    let path = job.folder + "/stored.json"
    try ReportFile.write(path, report.writeJSON)
    let stored = StoredReport(path, job: "nightly", run: job.run, lastSuccess: nil)
    for form in [ReportForm.json, .jsonl, .prometheus] {
      #expect(try written(form, stored) == written(form, report), "\(form)")
    }
    #expect(try written(.csv, stored).split(separator: "\r\n").count == 50)
    // What an ordinary transfer leaves out there is known all the same.
    let columns = ["id", "session", "url", "attempts", "retries", "requests", "max_chunk_attempts"]
    func rows(_ one: any Report) throws -> [[String]] {
      let read = try python(
        "import csv, io\nprint(json.dumps(list(csv.DictReader(io.StringIO(f.read().decode(), newline='')))))",
        try written(.csv, one))
      return read.array.map { row in columns.map { row[$0].text ?? "" } }
    }
    let told = try rows(stored)
    #expect(try told.count == 49 && told == rows(report))
    try ReportFile.write(path) { sink in try sink(Array("{ \"transfers\": [\n{}\n".utf8)) }
    #expect(throws: UnreadableReport.self) { try written(.csv, stored) }
  }

  @Test func `an ordinary transfer says by absence what it has`() {
    let ability: JSON = ["protocol": "webdav", "direction": "upload", "url": "http://h.example/dav/"]
    let ordinary: JSON = [
      "id": "a", "direction": "upload", "destination": "store:in/a:b", "size": .integer(5),
      "bytes": ["transferred": .integer(5)], "requests": .integer(2), "ended_at": "now",
    ]
    let whole = AbsentMembers.added(to: ordinary, capabilities: "c1", ability)
    let told: [JSON] = [
      "none", "http://h.example/dav/in/a:b", ["total": .integer(1), "completed": .integer(1)],
      .integer(5), "c1", .integer(1), .integer(0), .integer(1), "now",
    ]
    #expect(whole.members?.dropFirst(7).map(\.value) == told)
    let other: JSON = ["id": "b", "attempts": .integer(2), "size": .integer(5)]
    #expect(AbsentMembers.added(to: other, capabilities: "c1", ability) == other)
  }
}
