import Foundation
import TestSupport
import Testing

/// A secret's command that does not end holds up nobody.
@Suite(.turns)
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

  /// Whoever reads haul's standard error to its end waits for nothing that the command has left behind.
  @Test func leavesNothingBehind() async throws {
    let bench = try Bench()
    let begun = bench.scratch.path + "/begun"
    try bench.writeJob(
      job(
        "type: http, url: \"http://127.0.0.1:1\"",
        "{ bearer: { command: [sh, -c, \"sleep 300 & echo $! > \(begun); wait\"] } }"))
    let running = try bench.start(bench.runArguments())
    while (try? String(contentsOfFile: begun, encoding: .utf8))?.hasSuffix("\n") != true {
      try #require(running.isAlive, "\(running.errors)")
      try await Task.sleep(for: .milliseconds(20))
    }
    running.signal(SIGTERM)
    #expect(try await running.wait().status == 75)
    let process = try String(contentsOfFile: begun, encoding: .utf8).trimmingCharacters(in: .newlines)
    // One that has ended may wait for its new parent to look.
    let status = (try? String(contentsOfFile: "/proc/\(process)/stat", encoding: .utf8)) ?? ") Z"
    #expect(status.contains(") Z"), "\(status)")
  }

  /// Under `--log-format json` each line is a record, and under `--quiet` there is the summary alone.
  @Test(arguments: [["--log-format", "json"], ["--quiet"], []])
  func saysNothingBetweenRecords(_ options: [String]) async throws {
    let bench = try Bench()
    try bench.writeJob(
      job(
        "type: http, url: \"http://127.0.0.1:1\"",
        "{ bearer: { command: [sh, -c, \"echo 'said by it' >&2; exit 3\"] } }"))
    let end = try await bench.haul(["run", "job.yaml"] + options)
    #expect(end.status == 75 && end.errors.contains("ended with"), "\(end.errors)")
    #expect(end.errors.contains("said by it") == options.isEmpty, "\(end.errors)")
  }

  @Test func hasHalfAMinute() async throws {
    let bench = try Bench()
    let run = try await bench.run(
      job("type: http, url: \"http://127.0.0.1:1\"", "{ bearer: { command: [sleep, \"300\"] } }"))
    #expect(run.status == 75 && run.state("a") == "paused retries SECRET_UNAVAILABLE", "\(run.errors)")
    #expect(run["a"]["error"]["message"].string?.contains("longer than 30 s") == true)
  }
}
