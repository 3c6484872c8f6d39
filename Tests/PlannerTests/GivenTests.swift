import JobModel
import Testing

/// What the rows and the run put into `metadata`, `tags` and `storage_class`.
@Suite struct GivenTests {
  private static let head = """
    version: 1
    job: test
    endpoints:
      s3: { type: s3, url: "http://127.0.0.1:1", bucket: b }
      web: { type: http, url: "http://127.0.0.1:1/base" }
    defaults: { metadata: { job: nightly } }
    transfers:

    """

  @Test func `values of rows and of the run`() throws {
    let fixture = try PlanFixture(["rows.csv": "f,owner,class\na,anna,\nb,bo,GLACIER\n", "a": "", "b": ""])
    defer { fixture.remove() }
    let outcome = try fixture.plan(
      """
        - id: r
          for_each: { csv: rows.csv }
          upload: "${each.f}"
          to: "s3:${each.f}"
          metadata: { Owner: "${each.owner}", run: "${run.date}" }
          tags: { owner: "of ${each.owner}" }
          storage_class: "${each.class|default(STANDARD)}"
      """, head: Self.head)
    #expect(outcome.lines == [])
    let given = outcome.transfers.map(\.settings.given)
    #expect(given.map(\.metadata["owner"]) == ["anna", "bo"] && given[0].metadata["run"] == "2026-07-30")
    #expect(given[0].metadata["job"] == "nightly")
    #expect(given.map(\.tags) == [["owner": "of anna"], ["owner": "of bo"]])
    #expect(given.map(\.storageClass) == ["STANDARD", "GLACIER"])
  }

  @Test func `an empty cell, and a cell that is no header`() throws {
    let fixture = try PlanFixture(["rows.csv": "f,owner\na,\nb,\"x\ny\"\n", "a": "", "b": ""])
    defer { fixture.remove() }
    let outcome = try fixture.plan(
      "  - { id: r, for_each: { csv: rows.csv }, upload: \"${each.f}\", to: \"s3:${each.f}\", metadata: { owner: \"${each.owner}\" } }",
      head: Self.head)
    #expect(
      outcome.lines.sorted() == [
        "jobs/rows.csv:2:3: error: `each.owner` is empty in this row",
        "jobs/rows.csv:3:4: error: the metadata `owner` can't be sent as a header",
      ])
  }

  /// What `defaults` say waits for the destinations that take it; what a transfer says itself does not.
  @Test func `a kind that takes none`() throws {
    let fixture = try PlanFixture(["rows.csv": "f,to\na,web:a\nb,s3:b\n", "a": "", "b": ""])
    defer { fixture.remove() }
    let rows = "for_each: { csv: rows.csv }, upload: \"${each.f}\", to: \"${each.to}\""
    let inherited = try fixture.plan("  - { id: r, \(rows) }", head: Self.head)
    #expect(inherited.lines == [])
    #expect(inherited.transfers.map(\.settings.given.metadata) == [[:], ["job": "nightly"]])
    let own = try fixture.plan("  - { id: r, \(rows), tags: { a: b } }", head: Self.head)
    #expect(own.errors.map(\.message) == ["`http` destinations take no `tags`"])
  }
}
