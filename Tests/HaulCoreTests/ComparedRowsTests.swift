import Endpoints
import JobLedger
import JobManifest
import JobModel
import Planner
import TestSupport
import Testing

@testable import HaulCore

/// Rows are compared with those that the plan at hand was compiled from.
struct ComparedRowsTests {
  private static let manifest = """
    version: 1
    job: core
    endpoints: { web: { type: http, url: "https://example.com" } }
    transfers:
      - { id: one, download: "web:one", to: in/one }
      - id: rows
        for_each: { csv: rows.csv, key: "${each.k}" }
        download: "web:${each.k}"
        to: "in/${each.to}"
        expect: { size: "${each.size|default()}" }
      - { id: list, for_each: { list: list.txt }, download: "web:l/${each.line}", to: "l/${each.line}" }

    """

  private final class Bench {
    let fixture: CoreFixture
    let job: Job
    let values = RunValues(id: "R", startedAt: 1_767_225_600)

    init() throws {
      fixture = try CoreFixture()
      try fixture.scratch.write("rows.csv", "k\n")
      try fixture.scratch.write("list.txt", "x\n")
      let read = try fixture.manifest(ComparedRowsTests.manifest).read(overrides: [:])
      job = try #require(read.job, "\(read.diagnostics)")
    }

    func write(_ table: Table) throws {
      try fixture.scratch.write("rows.csv", table.csv)
      try fixture.scratch.write("list.txt", table.list)
    }

    func ledger(_ name: String) throws -> JobLedger {
      try fixture.scratch.write(name + "/mark", "")
      return try JobLedger(folder: fixture.scratch.path + "/" + name, mayMigrate: true)
    }

    func compile(_ ledger: JobLedger, comparing: Bool) throws -> Outcome {
      do {
        let mark = comparing ? PlanFingerprint(whole: nil, rows: "base") : nil
        let change = try PlanCompiler.compile(
          job, run: values, mark: mark, former: nil, into: ledger, lister: nil
        ).change
        return Outcome(
          text: "\(change.added) \(change.kept) \(change.adjusted) \(change.retired) \(change.left.ids)")
      } catch let faulty as PlanCompiler.Faulty {
        return Outcome(text: "\(faulty.diagnostics)", isFaulty: true)
      }
    }

    func rows(_ ledger: JobLedger) throws -> [String] {
      try ledger.page(after: 0, onlyTouched: false, limit: 10_000).map {
        "\($0.seq) \($0.id) \($0.source) \($0.destination) \($0.expect.size ?? -1) \($0.state.word)"
      }
    }
  }

  private struct Outcome: Equatable {
    var text: String
    var isFaulty = false
  }

  /// What the row files say.
  private struct Table {
    var columns = ["k", "to", "size", "note"]
    var rows: [[String: String]] = []
    var lines: [String] = []

    var csv: String {
      ([columns] + rows.map { row in columns.map { row[$0] ?? "" } }).map { $0.joined(separator: ",") + "\n" }
        .joined()
    }
    var list: String { lines.map { $0 + "\n" }.joined() }

    static func row(_ number: Int) -> [String: String] {
      ["k": "k\(number)", "to": "f\(number % 3)/\(number)", "size": "\(number)", "note": "n"]
    }

    mutating func edit(_ random: inout some RandomNumberGenerator, new number: Int) {
      guard let index = rows.indices.randomElement(using: &random),
        let other = rows.indices.randomElement(using: &random)
      else { return rows = [Self.row(number)] }
      switch Int.random(in: 0..<12, using: &random) {
      case 0: rows[index]["size"] = "\(number)"
      case 1: rows[index]["note"] = "n\(number)"
      case 2: rows.insert(Self.row(number), at: index)
      case 3: rows.append(Self.row(number))
      case 4: rows.remove(at: index)
      case 5: rows.swapAt(index, other)
      case 6: columns.shuffle(using: &random)
      case 7: rows[index]["k"] = rows[other]["k"]
      case 8: rows[index]["to"] = rows[other]["to"]
      case 9: rows[index]["to"] = "f\(number % 3)"
      case 10: lines.insert("l\(number)", at: 0)
      default: lines.shuffle(using: &random)
      }
    }
  }

  /// Whatever was edited: the plan is that of a compile of all, its faults as well.
  @Test(arguments: 1...24) func anyEditGivesThePlanOfAllRows(_ seed: UInt64) throws {
    var random = SeededRandom(seed)
    let bench = try Bench()
    let ledger = try bench.ledger("compared")
    var table = Table(rows: (0..<40).map(Table.row), lines: (0..<20).map { "l\($0)" })
    try bench.write(table)
    #expect(try !bench.compile(ledger, comparing: true).isFaulty)
    for round in 1...8 {
      let before = table
      for edit in 0..<Int.random(in: 0...4, using: &random) { table.edit(&random, new: round * 100 + edit) }
      try bench.write(table)
      try bench.fixture.scratch.write("whole\(round)/mark", "")
      try ledger.copy(to: bench.fixture.scratch.path + "/whole\(round)")
      let whole = try JobLedger(folder: bench.fixture.scratch.path + "/whole\(round)", mayMigrate: true)
      let outcome = try bench.compile(ledger, comparing: true)
      #expect(
        try outcome == bench.compile(whole, comparing: false), "round \(round)\n\(table.csv)\(table.list)")
      #expect(try bench.rows(ledger) == bench.rows(whole), "round \(round)")
      if outcome.isFaulty { table = before }
    }
  }

  /// Of many rows only those are planned that are new, wherever others went.
  @Test func onlyNewRowsArePlanned() throws {
    let bench = try Bench()
    let ledger = try bench.ledger("compared")
    var table = Table(rows: (0..<3000).map(Table.row), lines: ["a", "b"])
    try bench.write(table)
    _ = try bench.compile(ledger, comparing: true)
    table.rows.removeSubrange(100..<200)
    table.rows.insert(Table.row(9000), at: 50)
    table.rows[2000]["size"] = "7"
    table.lines.append("c")
    try bench.write(table)
    var (planned, kept): ([String], Int) = ([], 0)
    let rows = try ComparedRows(bench.job, ledger.rowMarks) { _ in kept += 1 }
    let faults = try JobPlanner.expand(bench.job, run: bench.values, uuid: { $0 }, known: rows) {
      planned.append($0.id)
    }
    #expect(faults.isEmpty)
    #expect(planned == ["one", "rows/k9000", "rows/k2099", "list/l/c"])
    #expect(kept == 2901)
    #expect(try bench.compile(ledger, comparing: true).text.hasPrefix("2 2902 1 100"))
    #expect(try bench.compile(ledger, comparing: true).text.hasPrefix("0 2905 0 0"))
  }

  /// A plan that lost a row since is not what its marks say.
  @Test func aRowThatIsGoneIsPlannedAgain() async throws {
    let bench = try Bench()
    let ledger = try bench.ledger("compared")
    try bench.write(Table(rows: (0..<10).map(Table.row), lines: ["a"]))
    _ = try bench.compile(ledger, comparing: true)
    let writer = LedgerWriter(ledger) { _ in }
    writer.submit(.removed(seq: 4))
    try await writer.barrier()
    try writer.close()
    #expect(try bench.compile(ledger, comparing: true).text.hasPrefix("1 11 0 0"))
  }
}
