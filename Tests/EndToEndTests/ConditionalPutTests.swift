import Foundation
import TestSupport
import Testing

/// A PUT under `if_exists: keep` or `fail` leaves what came behind the look, and still replaces its own torn file.
@Suite(.turns)
struct ConditionalPutTests {
  @Test(arguments: ["keep", "fail"])
  func whatCameMeanwhileStays(_ rule: String) async throws {
    let bench = try Bench()
    let server = try await PuttingServer(bench)
    try bench.source("a.bin", size: 100_000, seed: 1)
    try bench.serve("late-a.bin", size: 70_000, seed: 2)
    let theirs = try Sums.file(bench.served + "/late-a.bin")
    let run = try await bench.run(
      """
      version: 1
      job: putting
      endpoints: { web: { type: http, url: \(quoted(server.url)) } }
      defaults: { if_exists: \(rule), policy: { retry: { initial: 10ms } } }
      transfers:
        - { id: late, upload: a.bin, to: "web:late-a.bin" }
        - { id: torn, upload: a.bin, to: "web:torn-a.bin" }
        - { id: plain, upload: a.bin, to: "web:plain-a.bin" }
      """)
    #expect(run.state("late") == (rule == "keep" ? "skipped exists" : "failed DESTINATION_EXISTS"))
    #expect(try Sums.file(bench.served + "/late-a.bin") == theirs)
    for id in ["torn", "plain"] {
      #expect(run.state(id) == "completed", "\(run.errors)")
      #expect(try Sums.file(bench.served + "/\(id)-a.bin") == Sums.file(bench.job + "/a.bin"))
    }
    let conditions = server.log().filter {
      $0["method"].string == "PUT" && $0["path"].string == "/torn-a.bin"
    }
    .map { $0["condition"].string }
    #expect(conditions == ["*", nil], "what stands there then may be half of our own")
  }

  @Test func nothingIsAskedWhereFilesAreReplaced() async throws {
    let bench = try Bench()
    let server = try await PuttingServer(bench)
    try bench.source("a.bin", size: 100_000, seed: 1)
    try bench.serve("late-a.bin", size: 70_000, seed: 2)
    let run = try await bench.run(
      """
      version: 1
      job: putting
      endpoints: { web: { type: http, url: \(quoted(server.url)) } }
      transfers: [{ id: late, upload: a.bin, to: "web:late-a.bin" }]
      """)
    #expect(run.status == 0 && run.state("late") == "completed", "\(run.errors)")
    #expect(server.log().allSatisfy { $0["condition"].string == nil })
  }
}
