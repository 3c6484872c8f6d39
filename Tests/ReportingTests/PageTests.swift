import Foundation
import JobModel
import TestSupport
import Testing

@testable import Reporting

private typealias JSON = JobModel.JSON

/// The page about a run.
@Suite struct PageTests {
  private func page(_ report: any Report) throws -> String {
    let out = Collector()
    try ReportForm.html.write(report, to: out.take)
    return out.text
  }

  private static func transfer(_ id: String, _ more: [JSON.Member] = []) -> JSON {
    .object([.init("id", .string(id)), .init("state", "completed"), .init("size", .integer(5))] + more)
  }

  /// Elements, attributes' names and text of a page, by a parser that knows nothing of haul.
  private func parsed(_ text: String) throws -> Document {
    let scratch = try Scratch()
    let path = try scratch.write("page.html", text)
    let script = """
      import html.parser, json, sys
      class P(html.parser.HTMLParser):
          def __init__(self):
              super().__init__(); self.tags = {}; self.open = []; self.text = ''; self.faults = []; self.attributes = set()
          def handle_starttag(self, tag, attributes):
              self.tags[tag] = self.tags.get(tag, 0) + 1
              self.attributes |= {name for name, _ in attributes}
              if tag not in ('meta', 'input'): self.open.append(tag)
          def handle_startendtag(self, tag, attributes): self.attributes |= {name for name, _ in attributes}
          def handle_endtag(self, tag):
              if not self.open or self.open.pop() != tag: self.faults.append(tag)
          def handle_data(self, data):
              if self.open and self.open[-1] not in ('script', 'style'): self.text += data
      p = P(); p.feed(open(sys.argv[1], newline='').read()); p.close()
      print(json.dumps({"tags": p.tags, "open": p.open, "faults": p.faults, "text": p.text,
        "attributes": sorted(p.attributes)}))
      """
    let end = try Sums.shell("python3 - '\(path)' <<'EOF'\n\(script)\nEOF", in: scratch.path)
    return try Document(Array(end.utf8))
  }

  @Test func `a page tells the verdict first, and is whole`() async throws {
    let job = try await SampleJob()
    let text = try page(LedgerReport(job.head, ledger: job.ledger, describe: SampleJob.wire))
    let read = try parsed(text)
    #expect(read["open"].array.isEmpty && read["faults"].array.isEmpty, "\(read["faults"])")
    let words = try #require(read["text"].text)
    var from = words.startIndex
    for told in [
      "nightly", "Failed. 1 of 9 transfers failed, 2 in place. 3 more wait.", "exit code 1", "What to do",
      "INTEGRITY_MISMATCH", ErrorCode.integrityMismatch.hint, "haul run jobs/nightly.yaml --failed",
      "Where it stands", "Over time",
      "Sizes and times",
      "Evidence", "1 of 2 complete", "Not complete", "broken", "Complete", "done",
    ] {
      let found = try #require(words[from...].firstRange(of: told), "\(told)")
      from = found.upperBound
    }
    #expect(!text.contains(SampleJob.signature) && !text.contains(SampleJob.password))
  }

  @Test func `nothing is fetched, and only the page's own script may run`() async throws {
    let job = try await SampleJob()
    let text = try page(LedgerReport(job.head, ledger: job.ledger, describe: SampleJob.wire))
    let attributes = try parsed(text)["attributes"].array.compactMap(\.text)
    #expect(
      attributes.allSatisfy { !["src", "href", "srcset", "action"].contains($0) && !$0.hasPrefix("on") })
    #expect(!text.contains("url(") && !text.contains("@import"))
    let digest = try Sums.shell(
      "printf %s \"$(cat <<'EOF'\n\(PageScript.text)\nEOF\n)\" | openssl dgst -sha256 -binary | base64",
      in: "/tmp")
    #expect(digest == PageScript.digest + "\n" && text.contains("'sha256-\(PageScript.digest)'"))
  }

  @Test func `hostile texts are shown as text`() throws {
    let hostile = [
      "<script>alert(1)</script>", "\"><img src=x onerror=y>", "</style>", "\u{202E}fdp.exe", "\u{1b}[31m",
      "a\u{0}b", "&lt;b&gt;", "' onclick='x", "</title><script>", "\u{FFFE}",
    ]
    var report = GivenReport()
    report.items = hostile.map {
      Self.transfer(
        $0,
        [
          .init("state", "failed"), .init("reason", .string($0)), .init("source", .string($0)),
          .init("destination", .string($0)), .init("policy", ["name": .string($0)]),
          .init("url", .string("https://" + $0)),
          .init("error", ["code": .string($0), "message": .string($0)]), .init("retries", .integer(3)),
        ])
    }
    for text in hostile {
      report.top = [
        "job": ["name": .string(text), "manifest": .string(text), "description": .string(text)],
        "run": ["outcome": "failed", "host": .string(text)], "selection": ["only": .string(text)],
        "totals": ["transfers": .integer(10)],
        "causes": .array([
          [
            "code": .string(text), "host": .string(text), "message": .string(text),
            "ids": .array([.string(text)]),
          ]
        ]),
        "diagnostics": .array([
          [
            "severity": .string(text), "message": .string(text), "place": .string(text),
            "hint": .string(text),
          ]
        ]),
      ]
      let html = try page(report)
      let read = try parsed(html)
      #expect(read["open"].array.isEmpty && read["faults"].array.isEmpty)
      #expect(read["tags", "script"].int == 1 && read["tags", "img"].int == nil)
      #expect(read["attributes"].array.allSatisfy { $0.text?.hasPrefix("on") == false })
      for scalar in ["\u{202E}", "\u{1b}", "\0", "\u{FFFE}"] { #expect(!html.contains(scalar)) }
      let shown = try #require(read["text"].text)
      for name in hostile where name != "\u{FFFE}" {
        #expect(shown.contains(DisplayText.safe(name)), "\(name)")
      }
    }
  }

  @Test(arguments: [
    ("completed", 0, "Completed. 7 of 9 transfers in place, 1.0 KiB moved; 2 skipped or canceled."),
    ("failed", 2, "Failed. 2 of 9 transfers failed, 5 in place."),
    (
      "incomplete", 0, "Not finished. 5 of 9 transfers in place, 4 left. Run the same command again to go on."
    ),
    ("refused", 0, "Refused. This job is already running."),
    ("invalid", 0, "Invalid. The manifest has errors, and nothing was done."),
  ])
  func `the verdict is one line`(outcome: String, failed: Int, told: String) throws {
    var report = GivenReport()
    let isIncomplete = outcome == "incomplete"
    let isGood = outcome == "completed"
    report.top = [
      "job": ["name": "j"], "run": ["outcome": .string(outcome)],
      "totals": [
        "transfers": .integer(9), "completed": .integer(isGood ? 7 : 5), "failed": .int(failed),
        "paused": .integer(isIncomplete ? 4 : 0), "skipped": .integer(isGood ? 2 : 0),
        "bytes": ["transferred": .integer(1024)],
      ],
    ]
    #expect(try parsed(page(report))["text"].text?.contains(told) == true)
  }

  @Test func `a run that was stopped tells how long it was at work`() throws {
    func time(_ offset: Double) -> JSON { .string(Timestamp.text(1_700_000_000 + offset)) }
    var report = GivenReport()
    report.top = [
      "job": ["name": "j"],
      "run": [
        "outcome": "completed", "duration_s": .number(120), "started_at": time(0), "ended_at": time(120),
        "attempts": .array([
          ["started_at": time(0), "ended_at": time(30)], ["started_at": time(90), "ended_at": time(120)],
        ]),
      ],
      "totals": ["transfers": .integer(1), "completed": .integer(1), "bytes": ["transferred": .integer(9)]],
    ]
    let told = try parsed(page(report))["text"].text
    #expect(told?.contains("took 2 min 0 s, at work for 1 min 0 s") == true, "\(told ?? "")")
  }

  @Test func `a page of very many transfers with long names stays small`() throws {
    var report = GivenReport()
    let long = String(repeating: "<ä&>", count: 1000)
    report.items = (0..<6000).map { number in
      Self.transfer(
        "\(number)" + long,
        [
          .init("state", number % 2 == 0 ? "failed" : "completed"), .init("source", .string(long)),
          .init("destination", .string(long)), .init("url", .string("https://h\(number)/" + long)),
          .init("policy", ["ref": .string("p\(number)")]),
          .init("error", number % 2 == 0 ? ["code": "NOT_FOUND", "message": .string(long)] : .null),
        ])
    }
    let text = try page(report)
    #expect(text.utf8.count < 5_000_000)
    // A browser lays the lists out when they are scrolled to: it does so for a block, and not for a table.
    let lists = text.ranges(of: "<div class=\"wide rows\" style=\"--rows:").map {
      text[$0.upperBound...].prefix(30)
    }
    #expect(lists.count == 2 && lists.allSatisfy { $0.contains("\"><table class=\"list\">") }, "\(lists)")
    #expect(text.contains(".rows{content-visibility:auto;"))
    let words = try #require(try parsed(text)["text"].text)
    #expect(words.contains("others") && words.contains("more transfers"))
  }

  @Test func `the tops are the largest, in order`() {
    var list = TopList()
    for figure in [3, 1, 0, 12, 7, 7, 2, 9, 8, 4, 11, 5, 6, 10.0] { list.add(.int(Int(figure)), figure) }
    #expect(list.items.map(\.figure) == [12, 11, 10, 9, 8, 7, 7, 6, 5, 4])
  }

  @Test func `classes of a histogram`() {
    var histogram = Histogram([1, 10, 100])
    for value in [1, 5, 10, 99, 100.0] { histogram.add(value) }
    let rows = histogram.rows { "\(Int($0))" }
    #expect(rows.map(\.label) == ["1 – 10", "10 – 100", "100 and more"] && rows.map(\.count) == [2, 2, 1])
    // One of a thousand is seen, none of them is not.
    let bars = BarChart.html("x", [("a", 1000), ("b", 0), ("c", 1)]).split(separator: "--w:").dropFirst()
    #expect(bars.map { $0.prefix { $0 != "%" } } == ["100", "0", "0.5"], "\(bars)")
  }

  @Test func `bytes lie where their transfer ran, and not between attempts`() throws {
    let start = 1_700_000_000.0
    func time(_ offset: Double) -> JSON { .string(Timestamp.text(start + offset)) }
    let run: JSON = [
      "started_at": time(0), "ended_at": time(120),
      "attempts": .array([
        ["started_at": time(0), "ended_at": time(30)], ["started_at": time(90), "ended_at": time(120)],
      ]),
    ]
    var timeline = try #require(RunTimeline(run, now: 0))
    timeline.add([
      "started_at": time(20), "ended_at": time(100), "bytes": ["transferred": .integer(2000)],
      "retries": .integer(2), "error": ["at": time(50)],
    ])
    #expect(timeline.width == 1 && abs(timeline.bytes.reduce(0, +) - 2000) < 0.001)
    #expect(timeline.bytes[25] == 100 && timeline.bytes[60] == 0 && timeline.bytes[95] == 100)
    #expect(timeline.underWay[25] == 1 && timeline.underWay[60] == 0 && timeline.underWay[110] == 0)
    #expect(timeline.failures[50] == 1 && timeline.retries[100] == 2)
    #expect(RunTimeline(["started_at": time(0), "ended_at": time(0)], now: 0) == nil)
    // Pauses have a lane for each reason, the longest first, and end with the run.
    guard case .object(var members) = run else { return }
    func pause(_ reason: String, _ subject: JSON, _ from: Double, _ to: Double?) -> JSON {
      [
        "reason": .string(reason), "subject": subject, "started_at": time(from),
        "ended_at": to.map(time) ?? .null,
      ]
    }
    members.append(
      .init(
        "pauses",
        .array([
          pause("cooldown", "https://h/<script>", 10, 16), pause("window", "office", 60, nil),
          pause("cooldown", "https://g", 90, 93), pause("late", .null, 500, nil),
        ])))
    let paused = try #require(RunTimeline(.object(members), now: 0))
    #expect(paused.pauses.map { $0.end - $0.start } == [6, 60, 3])
    let html = TimelineChart(timeline: paused).html
    #expect(html.contains("Paused: window</span><span>office: 1 min 0 s<"), "\(html)")
    #expect(
      html.contains("Paused: cooldown</span><span>https://g, https://h/&lt;script&gt;: 9.0 s<"), "\(html)")
    #expect(!html.contains("<script") && html.contains("<rect class=\"hold\" x=\"10\" y=\"0\" width=\"6\""))
  }
}
