import Foundation
import TestSupport
import Testing

/// `chunk_size: auto`, by what a run before measured of the host.
@Suite(.turns)
struct AutomaticChunkTests {
  private func job(_ url: String, _ files: [(id: String, size: Int)]) -> String {
    let list = files.map {
      "  - { id: \($0.id), download: \(quoted(url + "/plain/" + $0.id)), to: \($0.id), expect: { size: \($0.size) } }"
    }
    return """
      version: 1
      job: auto
      defaults: { chunk_size: auto, policy: { chunks_in_flight: 1, network: { proxy: none } } }
      transfers:
      \(list.joined(separator: "\n"))
      """
  }

  /// Chunks of a host that moves 2 MB/s take one to four seconds, in the plan and in the run; before, only sizes count.
  @Test func aSlowHostGetsSmallerChunks() async throws {
    let bench = try Bench()
    let files = [(id: "first", size: 3 << 20), (id: "second", size: 9 << 20)]
    for (id, size) in files { try bench.serve(id, size: size) }
    let server = try await PolicyServer(bench) { $0.rate = 2_000_000 }
    func plannedSize() async throws -> Int64 {
      let plan = try JSON.parse(try await bench.haul(["plan", "job.yaml", "--json"]).output)
      return plan["transfers"].array.first { $0["id"].string == "second" }?["chunk_size"].int ?? 0
    }
    let yaml = job(server.url, files)
    try bench.writeJob(yaml)
    #expect(try await plannedSize() == 8 << 20)
    let first = try await bench.run(yaml, ["--only", "first"])
    #expect(first.totals["completed"].int == 1, "\(first.errors)")
    let planned = try await plannedSize()
    // A busy machine may have been slower, never faster.
    #expect([1 << 20, 2 << 20, 4 << 20].contains(planned), "\(planned)")
    let second = try await bench.run(yaml)
    #expect(second.status == 0 && second.faults == "", "\(second.errors)")
    #expect(second["second"]["chunk_size"].int == planned)
    #expect(second["second"]["chunks"]["total"].int == (9 << 20 + planned - 1) / planned)
    #expect(try bench.isSame("second", "second"))
  }

  /// What was begun keeps its chunk size, whatever the host does by then.
  @Test func whatWasBegunKeepsItsSize() async throws {
    let bench = try Bench()
    try bench.source("f", size: 40 << 20)
    let depot = try await Depot(bench)
    let yaml = """
      version: 1
      job: kept
      endpoints: { depot: { type: session, url: "\(depot.url)" } }
      defaults: { chunk_size: auto, policy: { chunks_in_flight: 1, bandwidth: 9MB/s, network: { proxy: none } } }
      transfers:
        - { id: f, upload: f, to: "depot:f" }
      """
    try bench.writeJob(yaml)
    let stopped = try await bench.run(nil, ["--deadline", "3s"])
    #expect(stopped.status == 75, "\(stopped.errors)")
    let chunk = try #require(stopped["f"]["chunk_size"].int)
    #expect((stopped["f"]["chunks"]["completed"].int ?? 0) > 0)
    try bench.writeJob(yaml.replacing("bandwidth: 9MB/s", with: "bandwidth: 90MB/s"))
    let run = try await bench.run()
    #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    #expect(run["f"]["chunk_size"].int == chunk && (run["f"]["chunks"]["reused"].int ?? 0) > 0)
  }
}
