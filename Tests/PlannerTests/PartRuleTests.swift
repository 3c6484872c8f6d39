import Endpoints
import Foundation
import JobManifest
import JobModel
import Testing

@testable import Planner

struct PartRuleTests {
  private static let count = 8

  /// The plan of each part of a manifest.
  private func parts(_ transfers: String, rows: String = "k\n1\n2\n3\n4\n5\n6\n7\n8\n") throws
    -> [[PlannedTransfer]]
  {
    let fixture = try PlanFixture(["rows.csv": rows])
    defer { fixture.remove() }
    var wholes: [Int64?] = []
    let parts: [[PlannedTransfer]] = try (1...Self.count).map { index in
      let job = try self.job(transfers, fixture)
      let rule = PartRule(job, try #require(Shard(index, of: Self.count)))
      var planned: [PlannedTransfer] = []
      var whole: Int64?
      let diagnostics = try JobPlanner.expand(
        job, run: RunValues(id: "R", startedAt: 1_767_225_600), uuid: { $0 }, part: rule,
        counted: { whole = $0 }
      ) { planned.append($0) }
      wholes.append(whole)
      #expect(diagnostics.allSatisfy { $0.severity != .error }, "\(diagnostics)")
      return planned
    }
    #expect(wholes.allSatisfy { $0 == Int64(parts.joined().count) }, "each part knows how many all have")
    return parts
  }

  private func job(_ transfers: String, _ fixture: PlanFixture) throws -> Job {
    let read = ManifestReader.read(
      PlanFixture.head + transfers, path: "jobs/job.yaml", directory: fixture.folder.path,
      environment: { _ in nil })
    return try #require(read.job, "\(read.diagnostics)")
  }

  private static let rows = """
      - id: r
        for_each: { csv: rows.csv, key: "${each.k}" }
        download: "depot:${each.k}"
        to: "r/${each.k}"

    """

  @Test func partsComeToTheWholeInItsOrder() throws {
    let parts = try self.parts(Self.rows + "  - { id: a, download: depot:a, to: a }\n")
    let all = parts.flatMap(\.self).sorted { ($0.ordinal ?? 0) < ($1.ordinal ?? 0) }
    #expect(all.map(\.id) == (1...8).map { "r/\($0)" } + ["a"])
    #expect(all.compactMap(\.ordinal) == (1...9).map { Int64($0) })
    #expect(parts.count { !$0.isEmpty } > 2)
  }

  /// Whatever `needs` ties together is of one part, and what it does not stays where its own id says.
  @Test(arguments: [
    ("a needs b", "[b]", ["a", "b"]), ("a glob", "[\"r/*\"]", ["a", "r/1", "r/8"]),
    ("a fan-out's id", "[r]", ["a", "r/1", "r/8"]), ("one of a fan-out", "[r/3]", ["a", "r/3", "r/1"]),
    ("two", "[b, c]", ["a", "b", "c"]), ("below a fan-out's id", "[r]", ["a", "r/1", "r/z"]),
    ("below an id that a glob matches", "[\"[r]\"]", ["a", "r/1", "r/z"]),
  ])
  func needsStayTogether(_ name: String, _ needs: String, _ together: [String]) throws {
    let plain = ["b", "c", "r/z"].map { "  - { id: \($0), download: depot:\($0), to: \($0) }\n" }.joined()
    let parts = try self.parts(
      Self.rows + plain + "  - { id: a, download: depot:a, to: a, needs: \(needs) }\n")
    let holders = parts.filter { part in part.contains { together.contains($0.id) } }
    #expect(holders.count == 1, "\(name): \(parts.map { $0.map(\.id) })")
    for id in together { #expect(holders[0].contains { $0.id == id }) }
    #expect(parts.joined().count == 12)
  }

  @Test func rowsThatNameWhatTheyNeedStayTogether() throws {
    let needing = """
        - id: n
          for_each: { csv: rows.csv, key: "${each.k}" }
          download: "depot:n${each.k}"
          to: "n/${each.k}"
          needs: ["r/${each.k}"]

      """
    let parts = try self.parts(Self.rows + needing + "  - { id: rest, download: depot:a, to: a }\n")
    #expect(parts.count { part in part.contains { $0.id.hasPrefix("n/") || $0.id.hasPrefix("r/") } } == 1)
  }

  @Test func groupsDoNotDependOnTheOrder() throws {
    let lines = [
      "  - { id: a, download: depot:a, to: a, needs: [b] }\n",
      "  - { id: b, download: depot:b, to: b, needs: [c] }\n",
      "  - { id: c, download: depot:c, to: c }\n", "  - { id: d, download: depot:d, to: d }\n",
    ]
    let one = try parts(lines.joined()).map { Set($0.map(\.id)) }
    #expect(try parts(lines.reversed().joined()).map { Set($0.map(\.id)) } == one)
    let own = ShardKey.part(of: ShardKey.of("d"), among: Self.count)
    #expect(one[own - 1].contains("d"), "what needs nothing goes by its own id")
    let group = ShardKey.part(of: ShardKey.of("a"), among: Self.count)
    #expect(one[group - 1].isSuperset(of: ["a", "b", "c"]), "a group goes by its smallest id")
  }

  /// A generated manifest: comparing all entries with all would take hours.
  @Test(.timeLimit(.minutes(5))) func aLongChainIsOneGroup() throws {
    let fixture = try PlanFixture([:])
    defer { fixture.remove() }
    let job = try self.job("  - { id: a, download: depot:a, to: a, needs: [b] }\n" + Self.single, fixture)
    let one = try #require(job.templates.first)
    let templates = (0..<100_000).map { number in
      var template = one
      template.id = "t/\(number)"
      template.needs[0].text = InterpolatedText("t/./\(number + 1)")
      return template
    }
    #expect(Set(NeedsGroups(templates).leaders) == ["t/0"])
  }

  private static let single = "  - { id: b, download: depot:b, to: b }\n"

  /// Faults of other parts are found all the same.
  @Test func eachPartChecksTheWhole() throws {
    let fixture = try PlanFixture(["rows.csv": "k\n1\n2\n1\n"])
    defer { fixture.remove() }
    let job = try self.job(Self.rows, fixture)
    for index in 1...Self.count {
      let diagnostics = try JobPlanner.expand(
        job, run: RunValues(id: "R", startedAt: 1_767_225_600), uuid: { $0 },
        part: PartRule(job, try #require(Shard(index, of: Self.count)))
      ) { _ in }
      #expect(diagnostics.contains { $0.message.contains("taken already") })
    }
  }

  @Test func aFanOutThatGoesToOnePartIsTold() throws {
    let fixture = try PlanFixture(["rows.csv": "k\n1\n"])
    defer { fixture.remove() }
    let shard = try #require(Shard(1, of: Self.count))
    let untied = try self.job(Self.rows, fixture)
    #expect(PartRule.undividedFanOuts(of: untied, shard, isOwn: false).isEmpty)
    let tied = try self.job(Self.rows + "  - { id: a, download: depot:a, to: a, needs: [r] }\n", fixture)
    let told = PartRule.undividedFanOuts(of: tied, shard, isOwn: false)
    #expect(told.count == 1 && told.first?.message.contains("all transfers of `r` go to shard") == true)
    let part = ShardKey.part(of: ShardKey.of("a"), among: Self.count)
    for index in 1...Self.count {
      let own = PartRule.undividedFanOuts(of: tied, try #require(Shard(index, of: Self.count)), isOwn: true)
      #expect(own.isEmpty == (index != part))
    }
  }
}
