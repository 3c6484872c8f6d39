import Endpoints
import JobLedger
import JobManifest
import JobModel
import Testing
import TestSupport

@testable import HaulCore

struct PlanCompilerTests {
  /// A server knows sessions by it: its value never changes.
  @Test func aTransfersUUIDNeverChanges() {
    let uuid = PlanCompiler.uuid("nightly", "one")
    #expect(uuid == "b4f66be8-bf6f-8220-84f5-81ecd1071a0e")
    #expect(PlanCompiler.uuid("nightly", "two") != uuid)
  }

  @Test func checkCountsAndKeepsNothing() throws {
    let fixture = try CoreFixture()
    let file = try fixture.manifest(CoreFixture.job)
    let check = try ManifestCheck(file, overrides: [:], sparing: fixture.state)
    #expect(check.transfers == 2 && check.end == nil && check.diagnostics == [])
    #expect(fixture.state.jobs == [])
    let broken = try ManifestCheck(
      try fixture.manifest("version: 1\n"), overrides: [:], sparing: fixture.state)
    #expect(broken.end?.status == .invalidManifest)
  }

  @Test func rowsRenewTheirURLs() async throws {
    let fixture = try CoreFixture()
    let job = """
      version: 1
      job: core
      transfers: [{ id: rows, for_each: { csv: rows.csv, key: "${each.id}" }, download: "${each.url}", to: "in/${each.id}" }]

      """
    try fixture.scratch.write("rows.csv", "id,url\na,https://example.com/a?sig=1\n")
    let file = try fixture.manifest(job)
    let opened = try #require(
      try JobOpening.open(file, RunSettings(), state: fixture.state, reports: fixture.reports()))
    let rows = try #require(
      RowSources(opened.job, RunValues(id: "R", startedAt: 1_767_225_600), opened.ledger))
    try fixture.scratch.write("rows.csv", "id,url\na,https://example.com/a?sig=22\n")
    // What can't be recorded now is read again for the next who asks.
    func sql(_ text: String) throws {
      _ = try Sums.shell("sqlite3 plan.sqlite \(quoted(text))", in: fixture.state.folder("core"))
    }
    try sql(
      "CREATE TRIGGER refusal BEFORE UPDATE OF source ON transfer BEGIN SELECT RAISE(ABORT, 'full'); END")
    await rows.renew()
    try sql("DROP TRIGGER refusal")
    await rows.renew()
    let page = try opened.ledger.page(after: 0, onlyTouched: false, limit: 10)
    #expect(page.map(\.source) == [.url("https://example.com/a?sig=22")])
  }
}
