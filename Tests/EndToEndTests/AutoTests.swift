import Foundation
import TestSupport
import Testing

/// `transfers: auto` and `connections: auto`, the defaults: by what servers count, not by time.
@Suite(.turns)
struct AutoTests {
  /// So many small files, each of which takes a tenth of a second, and what the server saw of a run.
  private func run(
    _ count: Int, policy: String = "", _ change: (inout PolicyServer.Setting) -> Void = { _ in }
  ) async throws -> (run: HaulRun, server: PolicyServer, requests: [JSON]) {
    let bench = try Bench()
    let names = (0..<count).map { "f\($0)" }
    for name in names { try bench.serve(name, size: 2000, seed: 7) }
    let list = bench.scratch.path + "/names.txt"
    try Data((names.joined(separator: "\n") + "\n").utf8).write(to: URL(fileURLWithPath: list))
    let server = try await PolicyServer(bench) {
      $0.rate = 20_000
      change(&$0)
    }
    let run = try await bench.run(
      """
      version: 1
      job: auto
      defaults: { policy: { network: { proxy: none }, retry: { initial: 100ms, max: 1s }\(policy) } }
      transfers:
        - id: m
          for_each: { list: \(quoted(list)), key: "${each.line}" }
          download: "\(server.url)/plain/${each.line}"
          to: "out/${each.line}"
      """)
    #expect(run.status == 0 && run.faults == "", "\(run.errors)")
    for name in names { #expect(try bench.isSame("out/" + name, name)) }
    return (run, server, server.requests())
  }

  private func connections(_ run: HaulRun) -> JSON { run.report["policies"]["p1"]["connections"] }

  @Test func aServerThatTakesManyGetsMany() async throws {
    let (run, server, requests) = try await run(600)
    let most = requests.compactMap { $0["open"].int }.max() ?? 0
    #expect((17...64).contains(most), "\(most) at a time")
    #expect(requests.count == 600)
    let connections = connections(run)
    #expect(connections["per_host"].string == "auto" && connections["total"].string == "auto")
    let found = connections["found"][server.url].int ?? 0
    #expect((9...64).contains(found), "\(found) found")
  }

  @Test func aServerThatTakesEightIsNotStormed() async throws {
    let (run, server, requests) = try await run(300) { $0.room = 8 }
    let refused = requests.filter { $0["mood"].string == "503" }.count
    #expect(refused > 0 && requests.count <= 360, "\(requests.count) requests, \(refused) refused")
    let found = connections(run)["found"][server.url].int ?? 0
    #expect((1...10).contains(found), "\(found) found")
  }

  @Test func aNumberIsKeptTo() async throws {
    let (run, _, requests) = try await run(60, policy: ", connections: { per_host: 3 }")
    #expect(requests.compactMap { $0["open"].int }.max() == 3)
    #expect(connections(run)["per_host"].int == 3)
  }
}
