import Foundation
import TestSupport
import Testing

/// Hosts that answer and are not there: load balancers without a host behind them, servers that want to rest for long.
@Suite(.turns, .timeLimit(.minutes(5)))
struct OutageTests {
  private func job(_ transfers: [String], _ policy: String) -> String {
    """
    version: 1
    job: outage
    defaults: { policy: { \(policy), network: { proxy: none } } }
    transfers:
    \(transfers.map { "  - " + $0 }.joined(separator: "\n"))
    """
  }

  /// A policy's deadline, `--deadline` and SIGTERM end a run that waits for a server's rest, on record or not.
  @Test(arguments: ["3600", "Fri, 31 Dec 9999 23:59:59 GMT"], ["policy", "option", "signal"])
  func aRestIsNoLongerThanTheRun(_ wish: String, _ way: String) async throws {
    let bench = try Bench()
    let server = try await WordedServer(bench, [.init("", status: 429, headers: ["Retry-After": wish])])
    let deadline = way == "policy" ? "deadline: 1s, " : ""
    try bench.writeJob(
      job(
        ["{ id: f, download: \(quoted(server.url + "/f")), to: f }"],
        deadline + "retry: { attempts: 2, initial: 20ms }"))
    let options = way == "option" ? ["--deadline", "1s"] : []
    for _ in 0..<2 {
      let run = try bench.start(bench.runArguments(options))
      if way == "signal" {
        try await Task.sleep(for: .seconds(1))
        run.signal(SIGTERM)
      }
      let end = try await run.wait(.seconds(30))
      #expect(end.status == 75, "\(end.errors)")
    }
    #expect(server.log().count == 1)
  }
}
