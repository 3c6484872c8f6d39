import Foundation
import TestSupport
import Testing

/// `auth: { netrc: true }`: the login of the host, from a file that nobody else may read.
@Suite(.turns)
struct NetrcTests {
  private func run(_ bench: Bench, _ environment: [String: String]) async throws -> (HaulRun, [JSON]) {
    let quirks = try await QuirkServer(bench)
    try bench.serve("a.bin", size: 1000)
    let run = try await bench.run(
      """
      version: 1
      job: netrc
      policies: { p: { retry: { attempts: 1 } } }
      defaults: { policy: p }
      endpoints: { web: { type: http, url: "\(quirks.url)/plain", auth: { netrc: true } } }
      transfers: [{ id: a, download: "web:a.bin", to: a.bin }]
      """, environment: environment)
    return (run, quirks.log())
  }

  @Test(arguments: ["home", "named"]) func login(_ place: String) async throws {
    let bench = try Bench()
    let name = place == "home" ? ".netrc" : "other.netrc"
    let path = try bench.scratch.write(
      name,
      "machine h login no password no\n# a comment\nmachine 127.0.0.1\n  login me password \"s3cret of tin\"\n"
    )
    #expect(chmod(path, 0o600) == 0)
    let (run, log) = try await run(bench, place == "home" ? [:] : ["NETRC": path])
    #expect(run.status == 0, "\(run.errors)")
    let expected = "Basic " + Data("me:s3cret of tin".utf8).base64EncodedString()
    #expect(!log.isEmpty && log.allSatisfy { $0["headers"]["authorization"].string == expected })
    #expect(
      try Sums.shell("grep -rl 's3cret of tin' state report.json || true", in: bench.scratch.path) == "")
  }

  @Test func refused() async throws {
    let open = try Bench()
    let path = try open.scratch.write(".netrc", "machine 127.0.0.1 login me password x\n")
    #expect(chmod(path, 0o644) == 0)
    let (readable, _) = try await run(open, [:])
    #expect(readable["a"]["error"]["message"].string?.contains("can be read by others") == true)
    #expect(readable["a"]["error"]["code"].string == "SECRET_UNAVAILABLE")
    let (none, log) = try await run(try Bench(), [:])
    #expect(none["a"]["error"]["code"].string == "SECRET_UNAVAILABLE" && log.isEmpty)
  }
}
