import Foundation
import TestSupport
import Testing

/// A proxy that asks who is there gets the user and the password of the reference, which nobody else sees.
@Suite(.turns)
struct ProxyLoginTests {
  @Test func byReference() async throws {
    let bench = try Bench()
    // Each server is a proxy for whom it is one: it answers absolute URLs, and keeps what it was sent.
    let proxy = try await ProxyServer(bench, user: "me", password: "p4ss/of+zinc @home")
    func job(_ user: String) -> String {
      """
      version: 1
      job: proxied
      policies:
        p:
          retry: { attempts: 1 }
          network: { proxy: { url: "\(proxy.url)", user: \(user), password: { env: PROXY_PASSWORD } } }
      defaults: { policy: p }
      transfers: [{ id: a, download: "http://files.example.net/a", to: a.bin }]
      """
    }
    let environment = ["PROXY_PASSWORD": "p4ss/of+zinc @home"]
    let run = try await bench.run(job("me"), environment: environment)
    #expect(run.status == 0 && run.state("a") == "completed", "\(run.errors)")
    #expect(run.faults == "")
    let other = try await bench.run(job("you"), ["--new-run"], environment: environment)
    #expect(other.state("a") == "failed UNAUTHORIZED", "\(other.errors)")
    for text in ["zinc", "Basic"] {
      #expect(!(run.errors + run.end.output + other.errors).contains(text))
      let found = try Sums.shell("grep -rla '\(text)' state report.json || true", in: bench.scratch.path)
      #expect(found == "")
    }
  }
}
