import Foundation
import TestSupport
import Testing

/// A secret's command that does not end holds up nobody.
@Suite(.turns, .timeLimit(.minutes(30)))
struct SecretCommandTests {
  private func job(_ url: String, _ auth: String) -> String {
    """
    version: 1
    job: hangs
    endpoints: { e: { \(url), auth: \(auth) } }
    policies: { p: { retry: { attempts: 1 } } }
    defaults: { policy: p }
    transfers: [{ id: a, download: "e:a", to: a.bin }, { id: b, download: "e:b", to: b.bin }]
    """
  }

  @Test(arguments: ["{ bearer: { command: COMMAND } }", "{ aws: { command: COMMAND } }"])
  func endsWithTheRun(_ auth: String) async throws {
    let bench = try Bench()
    let begun = bench.scratch.path + "/begun"
    let command = "[sh, -c, \"touch \(begun); sleep 300\"]"
    let kind = auth.contains("aws") ? "type: s3, bucket: b, " : "type: http, "
    try bench.writeJob(
      job(kind + "url: \"http://127.0.0.1:1\"", auth.replacingOccurrences(of: "COMMAND", with: command)))
    let running = try bench.start(bench.runArguments())
    while !FileManager.default.fileExists(atPath: begun) { try await Task.sleep(for: .milliseconds(20)) }
    running.signal(SIGTERM)
    let run = try await HaulRun(try await running.wait(), reportPath: bench.reportPath)
    #expect(run.status == 75 && run.faults == "", "\(run.errors)")
    #expect(run.state("a") == "paused interrupted" && run.state("b") == "paused interrupted")
  }

  @Test func hasHalfAMinute() async throws {
    let bench = try Bench()
    let run = try await bench.run(
      job("type: http, url: \"http://127.0.0.1:1\"", "{ bearer: { command: [sleep, \"300\"] } }"))
    #expect(run.status == 75 && run.state("a") == "paused retries SECRET_UNAVAILABLE", "\(run.errors)")
    #expect(run["a"]["error"]["message"].string?.contains("longer than 30 s") == true)
  }
}
