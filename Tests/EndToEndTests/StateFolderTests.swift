import Foundation
import TestSupport
import Testing

/// haul's own state among the destinations.
@Suite(.turns)
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
    /// Each row's error, at its cell, where only the file's text need be read.
    func expectTold(_ command: String) async throws {
      let end = try await bench.haul([command, manifest])
      #expect(end.status == 65, "\(command): \(end.errors)")
      for index in bad.indices {
        let told = "rows.csv:\(index + 2):4: error: the destination `\(bad[index])` lies in the folder of"
        #expect(end.errors.contains(told), "\(command): \(end.errors)")
      }
      #expect(end.errors.components(separatedBy: "haul's own state").count == bad.count + 1, "\(end.errors)")
    }
    for more in ["", ", allow_outside: true"] {
      try Data(yaml(more).utf8).write(to: URL(fileURLWithPath: manifest))
      for command in ["check", "plan"] { try await expectTold(command) }
      let end = try await bench.start(bench.runArguments(manifest: manifest)).wait()
      let run = try await HaulRun(end, reportPath: bench.reportPath)
      #expect(run.status == 1, "\(run.errors)")
      for index in bad.indices {
        #expect(run.state("r/b\(index)") == "failed PERMISSION_DENIED", "\(bad[index])")
      }
      #expect(["completed", "up_to_date"].contains(run.state("r/good")))
      #expect(run["r/b0"]["error"]["message"].string?.contains("haul's own state") == true)
      // The recorded plan is that of the same rows.
      try await expectTold("plan")
    }
    #expect(files.contents(atPath: bench.state + "/other/plan.sqlite") == Data("other".utf8))
    #expect(
      !files.fileExists(atPath: bench.state + "/own/new") && !files.fileExists(atPath: bench.state + "/x"))
  }

  /// The part of `to` that all destinations share, told once at its place, before there is any state.
  @Test func aFixedPathIntoTheStateIsAnError() async throws {
    let bench = try Bench()
    let manifest = bench.scratch.path + "/job.yaml"
    try FileManager.default.removeItem(atPath: bench.state)
    try Data("name\na\nb\n".utf8).write(to: URL(fileURLWithPath: bench.scratch.path + "/rows.csv"))
    let web = "http://127.0.0.1:1"
    try Data(
      """
      version: 1
      job: fixed
      transfers:
        - { id: one, download: "\(web)/f", to: state/fixed/plan.sqlite }
        - { id: named, download: "\(web)/g", to: ./state/ }
        - id: r
          for_each: { csv: rows.csv }
          download: "\(web)/${each.name}"
          to: "state/new/${each.name}"
        - { id: away, download: "\(web)/h", to: "\(bench.state)/h", allow_outside: true }
        - { id: beside, download: "\(web)/i", to: state2/i }
        - { id: up, upload: rows.csv, to: "\(web)/state/x" }

      """.utf8
    ).write(to: URL(fileURLWithPath: manifest))
    for command in ["check", "plan"] {
      let end = try await bench.haul([command, manifest])
      #expect(end.status == 65)
      let told = end.errors.split(separator: "\n").filter { $0.contains("haul's own state") }
      let lines = told.map { $0.split(separator: ":")[1] }
      #expect(lines == ["4", "5", "9", "10"], "\(command): \(end.errors)")
    }
  }
}
