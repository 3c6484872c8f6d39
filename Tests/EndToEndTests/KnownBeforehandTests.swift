import Foundation
import TestSupport
import Testing

/// What the manifest says of a file is checked as soon as it can be known: of an upload before a byte goes, of a
/// completed file without moving it.
@Suite(.turns)
struct KnownBeforehandTests {
  private func job(_ depot: Depot, _ transfers: String) -> String {
    """
    version: 1
    job: known
    endpoints: { depot: \(depot.endpoint) }
    policies: { p: { retry: { attempts: 2, initial: 10ms } } }
    defaults: { chunk_size: 64KiB, policy: p }
    transfers: [\(transfers)]
    """
  }

  @Test(arguments: [("type: image/png", "TYPE_MISMATCH"), ("size: 5", "LENGTH_MISMATCH")])
  func nothingIsSent(_ expected: String, _ code: String) async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.source("a.bin", size: 300_000)
    let run = try await bench.run(
      job(depot, "{ id: up, upload: a.bin, to: \"depot:a.bin\", expect: { \(expected) } }"))
    #expect(run.state("up") == "failed \(code)", "\(run.errors)")
    #expect(run.faults == "" && run.transferred == 0)
    let log = try await depot.log()
    #expect(log.chunks.isEmpty && !log.contains { $0.isCreate })
  }

  @Test(arguments: ["up", "down"]) func aNewTypeOfACompletedFile(_ id: String) async throws {
    let bench = try Bench()
    let depot = try await Depot(bench)
    try bench.source("a.bin", size: 300_000)
    try bench.serve("b.bin", size: 300_000)
    func transfers(_ more: String) -> String {
      "{ id: up, upload: a.bin, to: \"depot:a.bin\"\(more) }, { id: down, download: \"depot:b.bin\", to: b.bin\(more) }"
    }
    #expect(try await bench.run(job(depot, transfers(""))).status == 0)
    let run = try await bench.run(job(depot, transfers(", expect: { type: image/png }")))
    #expect(run.state(id) == "failed TYPE_MISMATCH", "\(run.errors)")
    if id == "up" { #expect(run[id]["bytes"]["transferred"].int == 0) }
  }

  @Test func theDigestGoesWithCreate() async throws {
    let bench = try Bench()
    let depot = try await Depot(bench, options: ["--max-chunk", "64KiB"])
    try bench.source("a.bin", size: 200_000)
    let right = try #require(try Sums.file(bench.job + "/a.bin"))
    func line(_ more: String) -> String {
      "{ id: up, upload: a.bin, to: \"depot:a.bin\", refresh: always\(more) }"
    }
    func told() throws -> String {
      // What create was told lies in the session's record.
      try Sums.shell(
        "grep -lF '\"fileHashSha256\":\"\(right)\"' .depot/sessions/*/session.json | wc -l",
        in: bench.served)
    }
    let run = try await bench.run(job(depot, line(", expect: { sha256: \(right) }")))
    #expect(run.status == 0 && run.state("up") == "completed", "\(run.errors)")
    #expect(try told() == "1\n")
    // On record by now, where nothing is expected.
    let again = try await bench.run(job(depot, line("")), ["--new-run"])
    #expect(again.state("up") == "completed", "\(again.errors)")
    #expect(try told() == "2\n")
  }
}
