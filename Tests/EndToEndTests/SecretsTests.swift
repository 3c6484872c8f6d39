import Foundation
import TestSupport
import Testing

/// What is secret is sent, and nowhere else.
@Suite(.turns)
struct SecretsTests {
  @Test func nothingOfThemIsKept() async throws {
    let bench = try Bench()
    let token = "tok3n-0f-gold", header = "he4der-of-silver", query = "s1gnature-of-tin"
    let depot = try await Depot(bench, options: ["--token-env", "T"], environment: ["T": token])
    let quirks = try await QuirkServer(bench)
    try bench.serve("a.bin", size: 100_000)
    try bench.source("up.bin", size: 100_000)
    let secretFile = try bench.scratch.write("secret.txt", header + "\n")
    #expect(chmod(secretFile, 0o600) == 0)
    let events = bench.scratch.path + "/events.jsonl"
    let run = try await bench.run(
      """
      version: 1
      job: secrets
      policies: { p: { retry: { attempts: 2, initial: 10ms } } }
      endpoints:
        depot:
          type: session
          url: \(depot.url)
          auth: { bearer: { env: TOKEN } }
          headers: { X-Api-Key: { file: \(secretFile) } }
        wrong: { type: session, url: "\(depot.url)", auth: { bearer: { command: [echo, "\(header)"] } } }
      defaults: { policy: p }
      transfers:
        - { id: down, download: "depot:a.bin", to: a.bin }
        - { id: up, upload: up.bin, to: "depot:up.bin" }
        - { id: refused, download: "wrong:a.bin", to: b.bin }
        - { id: signed, download: "\(quirks.url)/plain/a.bin?X-Amz-Signature=\(query)", to: c.bin }
        - { id: signed-bad, download: "\(quirks.url)/status/500/a.bin?X-Amz-Signature=\(query)", to: d.bin }
        - id: sent
          download: "\(quirks.url)/plain/a.bin"
          to: e.bin
          headers: { X-Api-Key: { env: TOKEN } }
      """, ["--events", events, "--log-level", "debug"], environment: ["TOKEN": token])
    #expect(run.faults == "")
    #expect(run.state("down") == "completed")
    #expect(run.state("up") == "completed")
    #expect(run.state("refused") == "failed UNAUTHORIZED")
    #expect(run.state("signed") == "completed")
    #expect(run.state("sent") == "completed")
    // They did reach the servers.
    #expect(quirks.log().contains { $0["headers"]["x-api-key"].string == token })
    #expect(quirks.log().contains { $0["path"].string?.contains(query) == true })

    for command in [
      ["report", "secrets"], ["status", "secrets"], ["history", "secrets"], ["plan", "job.yaml"],
    ] {
      for format in [[], ["--json"]] {
        let end = try await bench.haul(command + format, environment: ["TOKEN": token])
        for secret in [token, header, query] {
          // The manifest itself spells the argument of the secret command and the URL's query; haul never does.
          #expect(!(end.output + end.errors).contains(secret), "\(secret) in \(command + format)")
        }
      }
    }
    for secret in [token, header, query] {
      #expect(!run.end.errors.contains(secret), "\(secret) in standard error")
      #expect(!run.end.output.contains(secret))
    }
    // A signed query may lie in the ledger, and only there.
    let found = try Sums.shell(
      "grep -rlE '\(token)|\(header)' state report.json events.jsonl || true", in: bench.scratch.path)
    #expect(found == "")
    let signed = try Sums.shell(
      "grep -rl \(query) state report.json events.jsonl || true", in: bench.scratch.path)
    #expect(signed.split(separator: "\n").allSatisfy { $0.contains("plan.sqlite") }, "\(signed)")
  }
}
