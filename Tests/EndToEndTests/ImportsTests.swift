import Foundation
import TestSupport
import Testing

/// Manifests of several files, and one that comes by standard input.
@Suite(.turns)
struct ImportsTests {
  private static let yaml = """
    version: 1
    job: piped
    imports: [lib/common.yaml]
    transfers:
      - { id: a, download: "web:x", to: x, enabled: false }
    """
  private static let common = """
    endpoints: { web: { type: http, url: "http://127.0.0.1:1" } }
    """

  /// Runs haul in the bench's own folder with the manifest as its standard input.
  private func piped(_ bench: Bench, _ words: String) async throws -> Finished {
    try bench.scratch.write("in.yaml", Self.yaml)
    return try await Running(
      "/bin/sh", ["-c", "exec \(Programs.haul) \(words) --state-dir \(bench.state) < in.yaml"],
      environment: bench.environment(), folder: bench.scratch.path, scratch: bench.scratch.path
    ).wait(.seconds(30))
  }

  @Test func standardInputHasAFolder() async throws {
    let bench = try Bench()
    try bench.scratch.write("job/lib/common.yaml", Self.common)
    let lost = try await piped(bench, "run -")
    #expect(lost.status == 66, "\(lost.errors)")
    #expect(lost.errors.contains("-:3:11: error: the imported file `lib/common.yaml` does not exist"))
    for _ in 0..<2 {
      let run = try await piped(bench, "run - --root job")
      #expect(run.status == 0 && !run.errors.contains("warning"), "\(run.errors)")
    }
    // Commands without the manifest's path go by the state's own copy.
    let gc = try await bench.haul(["gc", "piped"])
    #expect(gc.status == 0 && !gc.errors.contains("can't be read"), "\(gc.errors)")
    // Another folder's is another manifest, as long as the first one's folder is there.
    try bench.scratch.write("other/lib/common.yaml", Self.common)
    let other = try await piped(bench, "run - --root other")
    #expect(other.status == 65 && other.errors.contains("--adopt"), "\(other.errors)")
    #expect(try await piped(bench, "run - --root other --adopt").status == 0)
    try bench.writeJob(Self.yaml)
    let misused = try await bench.haul(["run", "job.yaml", "--root", "."])
    #expect(misused.status == 64, "\(misused.errors)")
  }

  /// Whoever writes the manifest decides what haul reads and runs for it: not a server, by the name of its file.
  @Test(arguments: ["job.yaml", "common.yaml", "token", "ask.sh", "tell.sh"])
  func aServersNameReplacesNoInput(_ name: String) async throws {
    let bench = try Bench()
    let named = ["Content-Disposition": "attachment; filename=\"\(name)\""]
    let server = try await WordedServer(bench, [.init("", headers: named, body: "there")])
    try bench.writeJob("vars: { a: b }\n", as: "common.yaml")
    for file in ["token", "ask.sh", "tell.sh"] { try bench.writeJob("echo t\n", as: file) }
    #expect(chmod(bench.job + "/token", 0o600) == 0)
    try bench.writeJob(
      """
      version: 1
      job: inputs
      imports: [common.yaml]
      on: { success: [ { command: [sh, tell.sh] } ] }
      endpoints:
        asked: { type: http, url: "\(server.url)", auth: { bearer: { command: [sh, ask.sh] } } }
        web: { type: http, url: "\(server.url)", auth: { bearer: { file: token } } }
      transfers: [ { id: a, download: "web:f", to: ./ } ]
      """)
    let before = FileManager.default.contents(atPath: bench.job + "/" + name)
    let run = try await bench.run(nil)
    #expect(run.state("a") == "failed DESTINATION_EXISTS", "\(run.errors)")
    #expect(before != nil && FileManager.default.contents(atPath: bench.job + "/" + name) == before)
  }

  @Test func faultsOfImportsHaveTheirLine() async throws {
    let bench = try Bench()
    try bench.writeJob(Self.yaml)
    try bench.scratch.write("job/lib/common.yaml", Self.common.replacing("type: http", with: "type: htp"))
    let check = try await bench.haul(["check", "job.yaml"])
    #expect(check.status == 65)
    #expect(
      check.errors.hasPrefix(
        "lib/common.yaml:1:27: error: there is no endpoint type `htp`\n  endpoints: { web: { type: htp,"),
      "\(check.errors)")
    #expect(!FileManager.default.fileExists(atPath: bench.state + "/piped"))
  }
}
