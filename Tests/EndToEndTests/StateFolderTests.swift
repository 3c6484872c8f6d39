import Foundation
import TestSupport
import Testing

/// haul's own state among the destinations.
@Suite(.turns, .timeLimit(.minutes(15)))
struct StateFolderTests {
  /// Nothing is written in a state folder, whatever a row, a link or `allow_outside` says.
  @Test func theStateIsNoDestination() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.serve("f", size: 1000)
    let files = FileManager.default
    // The manifest lies above the state, and a neighbour has state there already.
    try files.createDirectory(atPath: bench.state + "/other", withIntermediateDirectories: true)
    try Data("other".utf8).write(to: URL(fileURLWithPath: bench.state + "/other/plan.sqlite"))
    try files.createSymbolicLink(atPath: bench.scratch.path + "/way", withDestinationPath: "state/own")
    let bad = [
      "state/own/run.lock", "state/own/plan.sqlite", "state/own/new/x", "state/other/plan.sqlite", "state/x",
      "way/run.lock", "way/new/x",
    ]
    let rows = bad.enumerated().map { "b\($0.offset),\($0.element)" } + ["good,out/good"]
    try Data(("id,to\n" + rows.joined(separator: "\n") + "\n").utf8).write(
      to: URL(fileURLWithPath: bench.scratch.path + "/rows.csv"))
    func yaml(_ more: String) -> String {
      """
      version: 1
      job: own
      endpoints: { depot: \(depot.endpoint) }
      transfers:
        - { id: r, for_each: { csv: rows.csv, key: "${each.id}" }, download: "depot:f", to: "${each.to}"\(more) }

      """
    }
    let manifest = bench.scratch.path + "/job.yaml"
    for more in ["", ", allow_outside: true"] {
      try Data(yaml(more).utf8).write(to: URL(fileURLWithPath: manifest))
      let end = try await bench.start(bench.runArguments(manifest: manifest)).wait()
      let run = try await HaulRun(end, reportPath: bench.reportPath)
      #expect(run.status == 1, "\(run.errors)")
      for index in bad.indices {
        #expect(run.state("r/b\(index)") == "failed PERMISSION_DENIED", "\(bad[index])")
      }
      #expect(["completed", "up_to_date"].contains(run.state("r/good")))
      #expect(run["r/b0"]["error"]["message"].string?.contains("haul's own state") == true)
    }
    #expect(files.contents(atPath: bench.state + "/other/plan.sqlite") == Data("other".utf8))
    #expect(
      !files.fileExists(atPath: bench.state + "/own/new") && !files.fileExists(atPath: bench.state + "/x"))
  }
}
