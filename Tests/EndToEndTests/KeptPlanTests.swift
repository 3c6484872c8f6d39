import Foundation
import TestSupport
import Testing

/// cli.md, `haul plan`: a compiled plan may be kept beside the state for the next `run`.
@Suite(.turns)
struct KeptPlanTests {
  private static let rows: Int64 = 500

  /// A job of 500 rows, every third without a known size; row `i` has `i` bytes.
  private func prepare(
    _ bench: Bench, _ endpoint: String = "{ type: http, url: \"http://127.0.0.1:9\" }"
  ) throws {
    try bench.writeJob(
      """
      version: 1
      job: kept
      endpoints: { depot: \(endpoint) }
      transfers:
        - id: r
          for_each: { csv: rows.csv, key: "${each.path}" }
          download: "depot:${each.path}"
          to: "out/${each.path}"
          chunk_size: 64
          expect: { size: "${each.size}" }
      """)
    try write(bench, prefix: "a")
  }

  private func write(_ bench: Bench, prefix: String) throws {
    let rows = (0..<Self.rows).map { "\(prefix)\($0).bin,\($0 % 3 == 0 ? "" : String($0))\n" }
    try bench.writeJob("path,size\n" + rows.joined(), as: "rows.csv")
    // One tick of the file system's clock: what was just written may change again unseen.
    Thread.sleep(forTimeInterval: 0.15)
  }

  private func kept(_ bench: Bench) -> [String] {
    ((try? FileManager.default.contentsOfDirectory(atPath: bench.state + "/.plans")) ?? []).filter {
      $0.hasPrefix("kept-")
    }
  }

  @Test func theNextPlanIsTheSameAndCountsAsTheListingDoes() async throws {
    let bench = try Bench()
    try prepare(bench)
    let first = try await bench.haul(["plan", "job.yaml"])
    #expect(first.status == 0 && kept(bench) == ["kept-kept"], "\(first.errors)")
    let second = try await bench.haul(["plan", "job.yaml"])
    #expect(second.output == first.output && second.status == 0)
    #expect(first.output.contains("… and 300 more") && first.output.contains("500 transfers: 500 to run\n"))
    let totals = try JSON.parse(try await bench.haul(["plan", "job.yaml", "--json"]).output)["totals"]
    let sizes = (0..<Self.rows).filter { $0 % 3 != 0 }
    #expect(totals["bytes"].int == sizes.reduce(0, +) && totals["changes"]["new"].int == Self.rows)
    let chunks = sizes.reduce(0) { $0 + ($1 + 63) / 64 }
    #expect(totals["chunks"].int == chunks && totals["unknown_sizes"].int == Self.rows - Int64(sizes.count))
    #expect(first.output.contains("\(chunks) chunks, \(Self.rows - Int64(sizes.count)) unknown sizes\n"))
  }

  @Test func changedRowsAreFoundAndNothingOfTheOldOnesIsLeft() async throws {
    let bench = try Bench()
    try prepare(bench)
    _ = try await bench.haul(["plan", "job.yaml"])
    try write(bench, prefix: "b")
    let json = try JSON.parse(try await bench.haul(["plan", "job.yaml", "--json"]).output)
    #expect(Int64(json["transfers"].array.count) == Self.rows && json["gone"]["count"].int == 0)
    #expect(json["transfers"].array.allSatisfy { $0["id"].string?.hasPrefix("r/b") == true })
    let run = try await bench.run(nil, ["--only", "r/b1.bin"])
    #expect(run.report["left_manifest"]["count"].int == 0, "\(run.errors)")
  }

  @Test func theFirstRunTakesItOver() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try prepare(bench, depot.endpoint)
    for row in 0..<Self.rows { try bench.serve("a\(row).bin", size: Int(row)) }
    _ = try await bench.haul(["plan", "job.yaml"])
    let compiled = try #require(Self.inode(bench.state + "/.plans/kept-kept/plan.sqlite"))
    let run = try await bench.run()
    #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    #expect(run.report["totals"]["completed"].int == Self.rows)
    #expect(Self.inode(bench.state + "/kept/plan.sqlite") == compiled && kept(bench).isEmpty)
    let again = try await bench.haul(["plan", "job.yaml"])
    #expect(again.output.contains("500 transfers: 500 up to date"), "\(again.output)")
  }

  /// One that a first run can't use is not in its way.
  @Test func aPlanOfAnotherManifestIsNotTakenOver() async throws {
    let bench = try Bench()
    try prepare(bench)
    _ = try await bench.haul(["plan", "job.yaml"])
    let compiled = Self.inode(bench.state + "/.plans/kept-kept/plan.sqlite")
    try write(bench, prefix: "b")
    _ = try await bench.run(nil, ["--only", "r/b1.bin"])
    #expect(Self.inode(bench.state + "/kept/plan.sqlite") != compiled)
    // It is of no use any more.
    #expect(kept(bench).isEmpty)
  }

  private static func inode(_ path: String) -> UInt64? {
    (try? FileManager.default.attributesOfItem(atPath: path))?[.systemFileNumber] as? UInt64
  }
}
