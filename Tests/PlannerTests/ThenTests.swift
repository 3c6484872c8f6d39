import Foundation
import JobModel
import Testing

/// What rows say of an attach request, and their faults at their place.
@Suite struct ThenTests {
  private static func rows(_ then: String) -> String {
    """
      - id: r
        for_each: { csv: f.csv, key: "${each.k}" }
        download: "web:${each.k}"
        to: "out/${each.k}"
        then: \(then)

    """
  }

  private static let head = PlanFixture.head.replacing(
    "endpoints:\n",
    with: "endpoints:\n  f: { type: sftp, url: \"sftp://h/\", auth: { ssh: { user: a, agent: true } } }\n")

  private func plan(_ then: String, _ csv: String) throws -> PlanFixture.Outcome {
    let fixture = try PlanFixture(["f.csv": csv])
    defer { fixture.remove() }
    return try fixture.plan(Self.rows(then), head: Self.head)
  }

  @Test func `rows and identities are put in, the rest waits`() throws {
    let outcome = try plan(
      #"{ post: "depot:r/${each.rec}", json: ["${each.rec}", "${uuid}", "${run.id} ${file.size} ${id}"], headers: { X-R: "${each.rec}" } }"#,
      "k,rec\na,7\nb,8\n")
    #expect(outcome.lines.isEmpty)
    let then = outcome.transfers.compactMap(\.settings.then)
    #expect(then.map(\.target.literal) == ["r/7", "r/8"] && then.map(\.endpoint) == ["depot", "depot"])
    #expect(
      then.first?.body?.filled { $0.written }.text == #"["7","uuid-of-r/a","${run.id} ${file.size} ${id}"]"#)
    #expect(then.last?.headers == [.init(name: "X-R", value: .text(InterpolatedText("8")))])
    #expect(outcome.transfers.allSatisfy { $0.settingsGroup == nil })
  }

  @Test func `what all rows have alike is shared`() throws {
    let outcome = try plan(#"{ post: "depot:r/${id}", json: { s: "${file.sha256}" } }"#, "k\na\nb\n")
    #expect(outcome.lines.isEmpty && outcome.transfers.allSatisfy { $0.settingsGroup != nil })
    #expect(Set(outcome.transfers.map(\.settings)).count == 1 && outcome.transfers[0].settings.then != nil)
  }

  @Test(
    arguments: [
      ("https://h/x", nil, "https://h/x"), ("depot:y", "depot", "y"), ("web:", "web", ""),
    ] as [(String, String?, String)])
  func `rows decide where it goes`(_ cell: String, _ endpoint: String?, _ target: String) throws {
    let then = try #require(
      try plan(#"{ put: "${each.to}" }"#, "k,to\na,\(cell)\n").transfers.first?.settings.then)
    #expect(then.endpoint == endpoint && then.target.literal == target)
  }

  @Test(arguments: [
    ("k,to\na,\n", "jobs/f.csv:2:3: error: `each.to` is empty in this row"),
    ("k,to\na,local/path\n", "jobs/f.csv:2:3: error: `local/path` is not a remote place"),
    ("k,to\na,nosuch:x\n", "jobs/f.csv:2:3: error: the endpoint `nosuch` is not declared"),
    ("k,to\na,f:x\n", "jobs/f.csv:2:3: error: `then` speaks HTTP, and the endpoint `f` does not"),
    ("k,to\na,https://u@h/x\n", "jobs/f.csv:2:3: error:"),
    ("k,too\na,x\n", "`jobs/f.csv` has no column `to`"),
  ])
  func `faults of rows`(_ csv: String, _ message: String) throws {
    let outcome = try plan(#"{ put: "${each.to}" }"#, csv)
    #expect(outcome.errors.count == 1 && outcome.lines[0].contains(message), "\(outcome.lines)")
  }

  @Test(arguments: [
    (#"{ put: "depot:r/${each.rec}" }"#, "../users/7", true),
    (#"{ put: "depot:r/${each.rec}" }"#, "a/.", true),
    (#"{ put: "https://h/r/${each.rec}" }"#, "..", true), (#"{ put: "${each.rec}" }"#, "web:../x", true),
    (#"{ put: "depot:r/${each.rec}/${file.size}" }"#, "a..b/...", false),
    (#"{ put: "https://h/r?p=${each.rec}" }"#, "/../x", false),
  ])
  func `a row's address does not climb`(_ then: String, _ cell: String, _ isRefused: Bool) throws {
    let outcome = try plan(then, "k,rec\na,\(cell)\n")
    #expect(outcome.errors.count == (isRefused ? 1 : 0), "\(outcome.lines)")
    guard isRefused, let line = outcome.lines.first else { return }
    #expect(line.hasPrefix("jobs/f.csv:2:3: error:") && line.contains("as a part of its path"))
  }

  @Test func `every fault of a row's request is at its cell`() throws {
    let then = #"{ put: "${each.to}", json: ["${each.j}"], headers: { X-A: "${each.a}", X-B: "${each.b}" } }"#
    let row = "a,f:x,,\"1\n2\",\"\u{1}\"\n"
    let lines = try plan(then, "k,to,j,a,b\nok,web:x,1,1,1\n" + row).lines
    #expect(
      lines == [
        "jobs/f.csv:3:3: error: `then` speaks HTTP, and the endpoint `f` does not",
        "jobs/f.csv:3:7: error: `each.j` is empty in this row",
        "jobs/f.csv:3:9: error: the header `X-A` of `then` has a line end or a control character",
        "jobs/f.csv:4:5: error: the header `X-B` of `then` has a line end or a control character",
      ], "\(lines.joined(separator: "\n"))")
  }
}
