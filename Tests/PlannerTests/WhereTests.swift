import Endpoints
import Foundation
import JobModel
import Testing

/// `where`: which entries of a fan-out are meant.
@Suite struct WhereTests {
  /// The run of `PlanFixture` starts at 2026-07-30T00:00:00Z.
  private static let start = 1_785_369_600.0
  private static let mark = SourceMark(file: "job.yaml", line: 1, column: 1)

  private static func bounds(_ change: (inout EntryBounds) -> Void) -> EntryBounds {
    var bounds = EntryBounds(mark: mark, lineText: "")
    change(&bounds)
    return bounds
  }

  struct Case: CustomTestStringConvertible {
    var bounds: EntryBounds
    var size: Int64?
    var modified: Double?
    var finding: EntryBounds.Finding
    var testDescription: String {
      "\(bounds.after as Any) \(bounds.before as Any) \(size as Any) \(modified as Any)"
    }
  }

  private static let sizes = bounds { ($0.minSize, $0.maxSize) = (10, 20) }
  private static let times = bounds { ($0.after, $0.before) = (.ago(86_400), .at(start)) }
  private static let both = bounds { ($0.maxSize, $0.before) = (20, .at(start)) }

  static let cases: [Case] = [
    Case(bounds: bounds { _ in }, size: nil, modified: nil, finding: .meant),
    Case(bounds: sizes, size: 9, modified: nil, finding: .leftOut),
    Case(bounds: sizes, size: 10, modified: nil, finding: .meant),
    Case(bounds: sizes, size: 20, modified: nil, finding: .meant),
    Case(bounds: sizes, size: 21, modified: nil, finding: .leftOut),
    Case(bounds: sizes, size: nil, modified: 0, finding: .untold("size")),
    Case(bounds: times, size: nil, modified: start - 86_400.5, finding: .leftOut),
    Case(bounds: times, size: nil, modified: start - 86_400, finding: .meant),
    Case(bounds: times, size: nil, modified: start - 0.5, finding: .meant),
    Case(bounds: times, size: nil, modified: start, finding: .leftOut),
    Case(bounds: times, size: 1, modified: nil, finding: .untold("time")),
    Case(bounds: both, size: 20, modified: start - 1, finding: .meant),
    Case(bounds: both, size: 21, modified: start - 1, finding: .leftOut),
    Case(bounds: both, size: 20, modified: start, finding: .leftOut),
    // What is not known is a fault, whatever else would leave the entry out.
    Case(bounds: both, size: 21, modified: nil, finding: .untold("time")),
  ]

  @Test(arguments: cases)
  func boundaries(_ one: Case) {
    #expect(one.bounds.judge(size: one.size, modified: one.modified, startedAt: Self.start) == one.finding)
  }

  @Test(arguments: [
    ("2d", EntryBounds.Moment.ago(172_800)), ("500ms", .ago(0.5)), ("2026-07-30", .at(start)),
    ("2026-07-30T01:00:00+01:00", .at(start)), ("2026-07-30T00:00:00.25Z", .at(start + 0.25)),
  ])
  func moment(_ text: String, _ moment: EntryBounds.Moment) throws {
    #expect(try EntryBounds.moment(text) == moment)
  }

  @Test(arguments: [
    "", "yesterday", "2", "2026-02-30", "2026-02-30T00:00:00Z", "2026-07-30T00:00", "30.07.2026",
  ])
  func noMoment(_ text: String) {
    #expect(throws: ValueFault.self) { try EntryBounds.moment(text) }
  }

  @Test func `a glob's files by size and by their own times`() throws {
    let fixture = try PlanFixture([
      "m/small": "1", "m/new": "12345", "m/old": "12345", "m/huge": "1234567890",
    ])
    defer { fixture.remove() }
    for (name, age) in [("small", 60.0), ("new", 3600), ("old", 200_000), ("huge", 60)] {
      try FileManager.default.setAttributes(
        [.modificationDate: Date(timeIntervalSince1970: Self.start - age)],
        ofItemAtPath: fixture.folder.path + "/m/" + name)
    }
    func plan(_ bounds: String, _ more: String = "") throws -> PlanFixture.Outcome {
      try fixture.plan("  - { id: m, upload: \"m/*\", to: \"depot:m/\", where: \(bounds)\(more) }")
    }
    let chosen = try plan("{ size: { min: 2, max: 9B }, modified: { after: 2d } }")
    #expect(chosen.ids == ["m/new"] && chosen.errors.isEmpty)
    #expect(chosen.lines == ["jobs/job.yaml:7:45: note: `where` leaves out 3 entries"])
    #expect(try plan("{ modified: { before: 2026-07-28 } }").ids == ["m/old"])
    #expect(try plan("{}").ids.count == 4)
    // Excluded files are not counted, nor looked at.
    #expect(
      try plan("{ size: { max: 5 } }", ", exclude: [huge]").lines == [])
    let none = try plan("{ size: { min: 1GiB } }")
    #expect(none.transfers.isEmpty && none.errors.count == 1)
    #expect(none.errors[0].message.hasPrefix("`where` leaves out all that was found (4): no file matches"))
    let warned = try plan("{ size: { min: 1GiB } }", ", if_empty: warn")
    #expect(warned.transfers.isEmpty && warned.errors.isEmpty)
  }

  @Test func `a listing's entries, and one that tells no time`() throws {
    let fixture = try PlanFixture()
    defer { fixture.remove() }
    let head = """
      version: 1
      job: test
      endpoints:
        store: { type: s3, url: "http://127.0.0.1:1", bucket: b }
      transfers:

      """
    func plan(_ bounds: String) throws -> PlanFixture.Outcome {
      try fixture.plan(
        "  - { id: s, download: \"store:p/\", to: in/, where: \(bounds) }", head: head
      ) { _, _, _, entry in
        try entry(ListedPage.Entry(path: "a", size: 3, modified: Self.start - 10))
        try entry(ListedPage.Entry(path: "b", size: 30, modified: nil))
      }
    }
    #expect(try plan("{ size: { max: 3 } }").ids == ["s/a"])
    let untold = try plan("{ modified: { after: 1h } }")
    #expect(
      untold.errors.map(\.message) == ["the listing tells no time of `store:p/b`, which `where` asks for"])
    #expect(untold.errors[0].mark?.column == 45)
    let all = try fixture.plan(
      "  - { id: s, download: \"store:p/\", to: in/, where: { modified: { after: 1h } } }", head: head
    ) { _, _, _, entry in try entry(ListedPage.Entry(path: "b", size: 30, modified: nil)) }
    #expect(all.errors.count == 1, "something lies there")
  }

  /// In `defaults` it waits for the fan-outs.
  @Test func `inherited by fan-outs alone`() throws {
    let fixture = try PlanFixture(["m/a": "12", "m/b": "1", "l": "x\n"])
    defer { fixture.remove() }
    let head = PlanFixture.head.replacing(
      "transfers:", with: "defaults: { where: { size: { min: 2 } } }\ntransfers:")
    let outcome = try fixture.plan(
      """
        - { id: m, upload: "m/*", to: "depot:m/" }
        - { id: all, upload: "m/*", to: "depot:all/", where: {} }
        - { id: one, upload: m/b, to: "depot:b" }
        - { id: rows, for_each: { list: l }, download: "web:${each.line}", to: "${each.line}" }
      """, head: head)
    #expect(outcome.errors.isEmpty)
    #expect(outcome.ids == ["m/a", "all/a", "all/b", "one", "rows/x"])
  }
}
