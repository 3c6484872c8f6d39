import Foundation
import TestSupport
import Testing

/// Addresses, names and redirects that a policy denies: refused, and nothing sent.
@Suite(.turns)
struct AttackTests {
  private func yaml(_ url: String, _ network: String, auth: String = "") -> String {
    let retry = "retry: { attempts: 3, initial: 10ms }"
    let policy = network.isEmpty ? "" : "\n    policy: { network: \(network), \(retry) }"
    return
      "version: 1\njob: attack\ntransfers:\n  - id: a\n    download: \(quoted(url))\n    to: a\(policy)\n\(auth)"
  }

  /// The same place under many names, to a server that would answer.
  @Test func everyNameOfLoopback() async throws {
    let bench = try Bench()
    try bench.serve("f", size: 1000)
    let server = try await PolicyServer(bench)
    let hosts = [
      "127.0.0.1", "localhost", "2130706433", "0x7f000001", "0177.0.0.1", "127.1", "0x7f.1", "0.0.0.0", "0",
      "[::ffff:127.0.0.1]", "[::ffff:7f00:1]", "[0:0:0:0:0:FFFF:127.0.0.1]",
    ]
    for host in hosts {
      let url = "http://\(host):\(server.port)/plain/f"
      let before = server.log().count
      let denied = try await bench.run(
        yaml(url, "{ proxy: none, addresses: { deny: [private, loopback, link-local] } }"))
      #expect(denied.state("a") == "failed POLICY_DENIED", "\(host): \(denied.errors)")
      #expect(denied.faults == "" && denied.status == 1)
      #expect(denied["a"]["error"]["message"].string?.contains("nothing was sent") == true)
      #expect(server.log().count == before, "\(host) was connected to")
      let open = try await bench.run(yaml(url, "{ proxy: none }"), ["--new-run"])
      #expect(
        open.status == 0 && server.log().count > before, "\(host) is no name of loopback: \(open.errors)")
      try FileManager.default.removeItem(atPath: bench.job + "/a")
    }
  }

  /// A place that is allowed sends on to one that is not.
  @Test func redirectsToWhatIsDenied() async throws {
    let bench = try Bench()
    try bench.serve("f", size: 1000)
    let victim = try await PolicyServer(bench)
    let guide = try await PolicyServer(bench) { $0.address = "127.0.0.2" }
    let (there, path) = ("127.0.0.1:\(victim.port)", "/plain/f")
    let addresses = "{ proxy: none, addresses: { deny: [\"127.0.0.1\"] } }"
    let names = "{ proxy: none, hosts: { allow: [\"127.0.0.2\"] } }"
    let targets: [(String, String)] = [
      ("http://\(there)\(path)", addresses), ("//\(there)\(path)", addresses),
      ("http://2130706433:\(victim.port)\(path)", addresses),
      ("http://[::ffff:127.0.0.1]:\(victim.port)\(path)", addresses),
      ("http://\(there)\(path)", names), ("http://localhost:\(victim.port)\(path)", names),
      ("http://127.0.0.2@\(there)\(path)", names), ("http://127.0.0.2:80@\(there)\(path)", "{ proxy: none }"),
      ("http://\(there)\\@127.0.0.2\(path)", names), ("http://127.0.0.2%2f@\(there)\(path)", names),
      (
        "http://127.0.0.1%23.127.0.0.2:\(victim.port)\(path)",
        "{ proxy: none, hosts: { allow: [\"*127.0.0.2\"] } }"
      ),
      ("file:///etc/passwd", "{ proxy: none }"), ("ftp://\(there)\(path)", "{ proxy: none }"),
      ("gopher://\(there)\(path)", "{ proxy: none }"), ("http:///\(there)\(path)", "{ proxy: none }"),
    ]
    for (index, (target, network)) in targets.enumerated() {
      let run = try await bench.run(
        yaml(guide.redirect(to: target, status: [301, 302, 303, 307, 308][index % 5]), network))
      #expect(run.state("a") == "failed POLICY_DENIED", "\(target): \(run.errors)")
      #expect(run.faults == "" && !bench.exists("a") && bench.parts().isEmpty)
    }
    #expect(victim.log().isEmpty)
    #expect(guide.requests().count >= targets.count)
    // The same way is open where nothing denies it.
    let open = try await bench.run(yaml(guide.redirect(to: "http://\(there)\(path)"), "{ proxy: none }"))
    #expect(open.status == 0 && victim.requests().count > 0, "\(open.errors)")
  }

  /// Another host, port or scheme gets no credential; nor does the first one when it is led back there.
  @Test func credentialsStayWhereTheyBelong() async throws {
    let bench = try Bench()
    try bench.serve("f", size: 1000)
    let first = try await PolicyServer(bench)
    let end = try await PolicyServer(bench)
    let middle = try await PolicyServer(bench) { $0.address = "127.0.0.2" }
    // haul appends the file's name, and each redirect keeps it at its end.
    for target in [
      end.url + "/plain", middle.redirect(to: end.url + "/plain"), middle.redirect(to: first.url + "/plain"),
    ] {
      let run = try await bench.run(
        """
        version: 1
        job: secrets
        endpoints:
          web:
            type: http
            url: \(quoted(first.redirect(to: target)))
            auth: { bearer: { env: TOKEN } }
            headers: { X-Key: { env: TOKEN } }
        transfers:
          - { id: a, download: "web:f", to: a, refresh: always }
        """, ["--new-run"], environment: ["TOKEN": "s3cret"])
      #expect(run.status == 0, "\(run.errors)")
    }
    let asked = first.requests().filter { $0["path"].string?.hasPrefix("/to/") == true }
    let ledBack = first.requests().filter { $0["path"].string?.hasPrefix("/plain/") == true }
    #expect(!asked.isEmpty && !ledBack.isEmpty)
    #expect(asked.allSatisfy { $0["headers"]["authorization"].string == "Bearer s3cret" })
    for request in ledBack + end.requests() + middle.requests() {
      #expect(request["headers"]["authorization"].isNull && request["headers"]["x-key"].isNull, "\(request)")
    }
    #expect(!end.requests().isEmpty && !middle.requests().isEmpty)
  }

  /// A name that leads elsewhere after the probe: its first address closes its ears, the second is denied.
  @Test(.enabled(if: getuid() == 0, "needs a mount namespace")) func rebinding() async throws {
    let bench = try Bench()
    try bench.serve("f", size: 1000)
    let victim = try await PolicyServer(bench)
    let bait = try await PolicyServer(bench) {
      $0.address = "127.0.0.2"
      $0.port = victim.port
      $0.life = 1
      $0.moods = ["503"]
    }
    let wrapper = try bench.withHosts("127.0.0.2 rebind.test\n127.0.0.1 rebind.test\n")
    let url = "http://rebind.test:\(victim.port)/plain/f"
    let run = try await bench.run(
      through: wrapper, yaml(url, "{ proxy: none, addresses: { deny: [\"127.0.0.1/32\"] } }"))
    // The bait answers one request with 503, and nobody after it; the victim, which would have answered, hears nothing.
    #expect(
      ["failed POLICY_DENIED", "paused retries NETWORK_UNREACHABLE"].contains(run.state("a")),
      "\(run.errors)")
    #expect(run.status != 0 && !bench.exists("a") && run.transferred == 0)
    #expect(bait.requests().count == 1 && victim.log().isEmpty, "\(victim.log())")
    let open = try await bench.run(through: wrapper, yaml(url, "{ proxy: none }"), ["--new-run"])
    #expect(open.status == 0 && victim.requests().count > 0, "\(open.errors)")
  }

  /// A name that leads elsewhere between two attempts: what was begun at its first address goes on nowhere else.
  @Test(.enabled(if: getuid() == 0, "needs a mount namespace")) func rebindingBetweenAttempts() async throws {
    let bench = try Bench()
    try bench.serve("f", size: 2_000_000)
    let victim = try await PolicyServer(bench)
    let bait = try await PolicyServer(bench) {
      $0.address = "127.0.0.2"
      $0.port = victim.port
      $0.rate = 200_000
    }
    func job(_ deadline: String) -> String {
      """
      version: 1
      job: rebound
      defaults: { chunk_size: 64KiB }
      transfers:
        - id: a
          download: http://rebind.test:\(victim.port)/plain/f
          to: a
          policy:
            deadline: \(deadline)
            retry: { attempts: 3, initial: 10ms }
            network: { proxy: none, addresses: { deny: ["127.0.0.1/32"] } }
      """
    }
    let first = try await bench.run(through: try bench.withHosts("127.0.0.2 rebind.test\n"), job("3s"))
    #expect(first.state("a") == "paused deadline" && first.transferred > 0, "\(first.errors)")
    let heard = bait.requests().count
    let second = try await bench.run(through: try bench.withHosts("127.0.0.1 rebind.test\n"), job("60s"))
    #expect(second.state("a") == "failed POLICY_DENIED" && !bench.exists("a"), "\(second.errors)")
    #expect(second["a"]["error"]["message"].string?.contains("nothing was sent") == true)
    #expect(victim.log().isEmpty && bait.requests().count == heard, "\(victim.log())")
  }

  /// From https to http nobody is led, wherever to; the other way is open.
  @Test func redirectsAcrossSchemes() async throws {
    let bench = try Bench()
    try bench.serve("f", size: 1000)
    let own = try Authority(bench, "own")
    let pair = try own.issue("good", host: "IP:127.0.0.1")
    let plain = try await PolicyServer(bench)
    let secure = try await PolicyServer(bench) { ($0.certificate, $0.key) = (pair.certificate, pair.key) }
    func job(_ url: String) -> String {
      """
      version: 1
      job: schemes
      endpoints: { web: { type: http, url: \(quoted(url)), auth: { bearer: { env: TOKEN } } } }
      transfers:
        - id: a
          download: "web:f"
          to: a
          refresh: always
          policy: { network: { proxy: none }, tls: { ca_file: \(quoted(own.ca)) } }
      """
    }
    for target in [plain.url + "/plain", "http://127.0.0.1:\(secure.port)/plain"] {
      let run = try await bench.run(
        job(secure.redirect(to: target)), ["--new-run"], environment: ["TOKEN": "s3cret"])
      #expect(run.state("a") == "failed POLICY_DENIED", "\(target): \(run.errors)")
      #expect(run["a"]["error"]["message"].string?.contains("redirects from https") == true)
      #expect(!bench.exists("a"))
    }
    #expect(plain.log().isEmpty)
    let up = try await bench.run(
      job(plain.redirect(to: secure.url + "/plain")), ["--new-run"], environment: ["TOKEN": "s3cret"])
    #expect(up.status == 0, "\(up.errors)")
    // Another scheme is another origin: the token stays behind.
    let arrived = secure.requests().filter { $0["path"].string?.hasPrefix("/plain/") == true }
    #expect(!arrived.isEmpty && arrived.allSatisfy { $0["headers"]["authorization"].isNull })
  }

  /// A name of the metadata service's address, from /etc/hosts.
  @Test(.enabled(if: getuid() == 0, "needs a mount namespace")) func namesOfDeniedAddresses() async throws {
    let bench = try Bench()
    let wrapper = try bench.withHosts(
      "169.254.169.254 metadata.test\n127.0.0.1 inside.test\n10.1.2.3 lan.test\n")
    for host in ["metadata.test", "inside.test", "lan.test"] {
      let run = try await bench.run(
        through: wrapper,
        yaml("http://\(host)/f", "{ proxy: none, addresses: { deny: [private, loopback, link-local] } }"))
      #expect(run.state("a") == "failed POLICY_DENIED", "\(host): \(run.errors)")
    }
  }

  /// Where a proxy connects, nobody here sees the address: the policy refuses rather than trust it.
  @Test func proxies() async throws {
    let bench = try Bench()
    try bench.serve("f", size: 1000)
    let server = try await PolicyServer(bench)
    let proxy = try await PolicyServer(bench) { $0.address = "127.0.0.2" }
    let url = server.url + "/plain/f"
    let hidden = try await bench.run(
      yaml(url, "{ addresses: { deny: [link-local] } }"), environment: ["http_proxy": proxy.url])
    #expect(hidden.state("a") == "failed POLICY_DENIED", "\(hidden.errors)")
    #expect(hidden["a"]["error"]["message"].string?.contains("a proxy would connect") == true)
    #expect(proxy.log().isEmpty && server.log().isEmpty)
    // An exception, or a policy without a proxy, goes there itself.
    for (network, variables) in [
      ("{ addresses: { deny: [link-local] } }", ["no_proxy": "127.0.0.1"]),
      ("{ proxy: none, addresses: { deny: [link-local] } }", [:]),
      ("{ proxy: \(quoted(proxy.url)) }", ["NO_PROXY": "127.0.0.0/8"]),
    ] {
      let run = try await bench.run(
        yaml(url, network), ["--new-run"], environment: variables.merging(["http_proxy": proxy.url]) { $1 })
      #expect(run.status == 0, "\(network): \(run.errors)")
    }
    #expect(proxy.log().isEmpty && !server.log().isEmpty)
    // And the proxy is asked where it is meant to be: it knows the whole URL's path only, so it has no such file.
    _ = try await bench.run(yaml(url + "?2", "{ proxy: \(quoted(proxy.url)) }"), ["--new-run"])
    #expect(proxy.requests().contains { $0["path"].string == url + "?2" }, "\(proxy.requests())")
  }
}
