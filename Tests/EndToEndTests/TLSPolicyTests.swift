import Foundation
import TestSupport
import Testing

/// TLS against real servers with test CAs: what must not be trusted is refused, each with its own words.
@Suite(.turns)
struct TLSPolicyTests {
  private func yaml(_ url: String, _ tls: String) -> String {
    """
    version: 1
    job: tls
    transfers:
      - id: a
        download: \(quoted(url + "/plain/f"))
        to: a
        refresh: always
        policy: { network: { proxy: none }, retry: { attempts: 1 }, tls: \(tls) }
    """
  }

  private func refused(_ bench: Bench, _ server: PolicyServer, _ tls: String, _ words: String) async throws {
    let run = try await bench.run(yaml(server.url, tls), ["--new-run"])
    #expect(run.state("a") == "failed TLS_FAILED", "\(words): \(run.errors)")
    let message = run["a"]["error"]["message"].string ?? ""
    #expect(message.contains(words), "\(message)")
    #expect(run.faults == "" && run.status == 1 && server.requests().isEmpty)
  }

  @Test func whatIsNotToBeTrusted() async throws {
    let bench = try Bench()
    try bench.serve("f", size: 1000)
    let own = try Authority(bench, "own")
    let (good, late, other) = (
      try own.issue("good", host: "IP:127.0.0.1"), try own.issue("late", host: "IP:127.0.0.1", days: -1),
      try own.issue("other", host: "DNS:files.example.net")
    )
    let trusting = "ca_file: \(quoted(own.ca))"
    func server(_ pair: (certificate: String, key: String), isOld: Bool = false) async throws -> PolicyServer
    {
      try await PolicyServer(bench) {
        $0.certificate = pair.certificate
        $0.key = pair.key
        $0.isOld = isOld
      }
    }
    let (fine, expired, wrong, old) = (
      try await server(good), try await server(late), try await server(other),
      try await server(good, isOld: true)
    )
    try await refused(bench, fine, "{}", "signed by nobody who is trusted here")
    try await refused(bench, expired, "{ \(trusting) }", "has expired")
    try await refused(bench, wrong, "{ \(trusting) }", "is not one for `127.0.0.1`")
    try await refused(bench, old, "{ \(trusting) }", "does not support TLS 1.2 or newer")
    let (pin, foreign) = (try own.pin(good.certificate), try own.pin(other.certificate))
    try await refused(
      bench, fine, "{ \(trusting), pinned_keys: [\(quoted(foreign))] }", "none of `tls.pinned_keys`")
    // Pins hold where nothing else does.
    try await refused(
      bench, fine, "{ insecure: true, pinned_keys: [\(quoted(foreign))] }", "none of `tls.pinned_keys`")
    for tls in ["{ ca_file: missing.pem }", "{ client_cert: missing.pem, client_key: missing.key }"] {
      let run = try await bench.run(yaml(fine.url, tls), ["--new-run"])
      #expect(run.status == 66 && run.faults == "" && fine.requests().isEmpty)
      #expect(run.errors.contains("missing.pem`, can't be read: No such file"), "\(run.errors)")
    }
    let torn = try bench.scratch.write("torn.pem", "no certificate")
    try await refused(bench, fine, "{ ca_file: \(quoted(torn)) }", "`tls.ca_file`")

    for tls in [
      "{ \(trusting) }", "{ \(trusting), pinned_keys: [\(quoted(foreign)), \(quoted(pin))] }",
      "{ \(trusting), min_version: \"1.3\" }",
    ] {
      let run = try await bench.run(yaml(fine.url, tls), ["--new-run"])
      #expect(run.status == 0, "\(tls): \(run.errors)")
      #expect(!run.remarks.contains("insecure"))
    }
  }

  @Test func insecureIsLoud() async throws {
    let bench = try Bench()
    try bench.serve("f", size: 1000)
    let own = try Authority(bench, "own")
    let other = try own.issue("other", host: "DNS:files.example.net", days: -1)
    let server = try await PolicyServer(bench) {
      $0.certificate = other.certificate
      $0.key = other.key
    }
    let run = try await bench.run(yaml(server.url, "{ insecure: true }"))
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.remarks.contains("`insecure: true`"), "\(run.remarks)")
    #expect(run.errors.contains("`insecure: true`"), "\(run.errors)")
  }

  @Test func clientCertificates() async throws {
    let bench = try Bench()
    try bench.serve("f", size: 1000)
    let (own, foreign) = (try Authority(bench, "own"), try Authority(bench, "foreign"))
    let good = try own.issue("good", host: "IP:127.0.0.1")
    let (mine, theirs) = (
      try own.issue("mine", host: "email:me@example.net"),
      try foreign.issue("theirs", host: "email:x@example.net")
    )
    let server = try await PolicyServer(bench) {
      $0.certificate = good.certificate
      $0.key = good.key
      $0.clientCA = own.ca
    }
    func tls(_ pair: (certificate: String, key: String)) -> String {
      "{ ca_file: \(quoted(own.ca)), client_cert: \(quoted(pair.certificate)), client_key: \(quoted(pair.key)) }"
    }
    try await refused(bench, server, "{ ca_file: \(quoted(own.ca)) }", "wants a client certificate")
    try await refused(bench, server, tls(theirs), "refuses the client certificate")
    try await refused(bench, server, tls((mine.certificate, theirs.key)), "or its key can't be used")
    let run = try await bench.run(yaml(server.url, tls(mine)), ["--new-run"])
    #expect(run.status == 0, "\(run.errors)")
  }

  /// nginx takes the handshake, and says what it misses in a page.
  @Test(.enabled(if: Nginx.isInstalled, "needs nginx")) func clientCertificatesOfNginx() async throws {
    let bench = try Bench()
    try bench.serve("plain/f", size: 1000)
    let (own, foreign) = (try Authority(bench, "own"), try Authority(bench, "foreign"))
    let good = try own.issue("good", host: "IP:127.0.0.1")
    let (mine, theirs) = (
      try own.issue("mine", host: "email:me@example.net"),
      try foreign.issue("theirs", host: "email:x@example.net")
    )
    let server = try await Nginx(bench) {
      $0.certificate = good
      $0.clientCA = own.ca
    }
    func tls(_ pair: (certificate: String, key: String)) -> String {
      "{ ca_file: \(quoted(own.ca)), client_cert: \(quoted(pair.certificate)), client_key: \(quoted(pair.key)) }"
    }
    for (settings, words) in [
      ("{ ca_file: \(quoted(own.ca)) }", "wants a client certificate"),
      (tls(theirs), "refuses the client certificate"),
    ] {
      let run = try await bench.run(yaml(server.url, settings), ["--new-run"])
      #expect(run.state("a") == "failed TLS_FAILED", "\(run.errors)")
      #expect(run["a"]["error"]["message"].string?.contains(words) == true, "\(run["a"]["error"])")
      #expect(run["a"]["requests"].int == 1)
    }
    let run = try await bench.run(yaml(server.url, tls(mine)), ["--new-run"])
    #expect(run.status == 0, "\(run.errors)")
    #expect(server.log().last?["status"].int == 206)
  }

  /// A bad request is no certificate's fault where none was asked for.
  @Test func badRequest() async throws {
    let bench = try Bench()
    let own = try Authority(bench, "own")
    let pair = try own.issue("good", host: "IP:127.0.0.1")
    let server = try await PolicyServer(bench) {
      $0.certificate = pair.certificate
      $0.key = pair.key
    }
    let run = try await bench.run(yaml(server.url + "/to/400/x", "{ ca_file: \(quoted(own.ca)) }"))
    #expect(run.state("a") == "failed PROTOCOL_VIOLATION", "\(run.errors)")
    #expect(run["a"]["error"]["http_status"].int == 400)
  }

  /// A page on the secure port that does not speak TLS.
  @Test func plainText() async throws {
    let bench = try Bench()
    let server = try await PolicyServer(bench)
    let run = try await bench.run(yaml("https://127.0.0.1:\(server.port)", "{}"))
    #expect(run.state("a") == "failed TLS_FAILED", "\(run.errors)")
    #expect(run["a"]["error"]["message"].string?.contains("does not speak TLS") == true)
  }
}
