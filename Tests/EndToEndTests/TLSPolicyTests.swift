import Foundation
import TestSupport
import Testing

/// TLS against real servers with test CAs: what must not be trusted is refused, each with its own words.
@Suite(.turns, .timeLimit(.minutes(15)))
struct TLSPolicyTests {
  /// A CA and certificates of it, made by openssl.
  private struct Authority {
    let folder: String
    var ca: String { folder + "/ca.pem" }

    init(_ bench: Bench, _ name: String) throws {
      folder = try bench.scratch.folder(name)
      try run([
        "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "30", "-subj", "/CN=Test CA \(name)",
        "-keyout",
        folder + "/ca.key", "-out", folder + "/ca.pem",
      ])
    }

    /// - Parameter days: of its validity, from now; a negative one has expired.
    func issue(_ name: String, host: String, days: Int = 10) throws -> (certificate: String, key: String) {
      let stem = folder + "/" + name
      try Data("subjectAltName=\(host)\n".utf8).write(to: URL(fileURLWithPath: stem + ".ext"))
      try run([
        "req", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=\(name)", "-keyout", stem + ".key", "-out",
        stem + ".csr",
      ])
      try run([
        "x509", "-req", "-in", stem + ".csr", "-CA", ca, "-CAkey", folder + "/ca.key", "-CAcreateserial",
        "-days",
        String(days), "-extfile", stem + ".ext", "-out", stem + ".pem",
      ])
      return (stem + ".pem", stem + ".key")
    }

    /// The pin of a certificate's key, as curl(1) tells to make it.
    func pin(_ certificate: String) throws -> String {
      try run(["x509", "-in", certificate, "-pubkey", "-noout", "-out", certificate + ".pub"])
      try run([
        "pkey", "-pubin", "-in", certificate + ".pub", "-outform", "der", "-out", certificate + ".der",
      ])
      try run(["dgst", "-sha256", "-binary", "-out", certificate + ".sum", certificate + ".der"])
      let sum = FileManager.default.contents(atPath: certificate + ".sum") ?? Data()
      return "sha256//" + sum.base64EncodedString()
    }

    private func run(_ arguments: [String]) throws {
      let process = Process()
      process.executableURL = URL(filePath: "/usr/bin/openssl")
      process.arguments = arguments
      process.standardOutput = FileHandle.nullDevice
      process.standardError = FileHandle.nullDevice
      try process.run()
      process.waitUntilExit()
      guard process.terminationStatus == 0 else { throw TestFault("openssl \(arguments) failed") }
    }
  }

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
    try await refused(bench, old, "{ \(trusting) }", "speaks no TLS of version 1.2 or newer")
    let (pin, foreign) = (try own.pin(good.certificate), try own.pin(other.certificate))
    try await refused(
      bench, fine, "{ \(trusting), pinned_keys: [\(quoted(foreign))] }", "none of `tls.pinned_keys`")
    // Pins hold where nothing else does.
    try await refused(
      bench, fine, "{ insecure: true, pinned_keys: [\(quoted(foreign))] }", "none of `tls.pinned_keys`")
    try await refused(bench, fine, "{ ca_file: missing.pem }", "`tls.ca_file`")

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

  /// A page on the secure port that does not speak TLS.
  @Test func plainText() async throws {
    let bench = try Bench()
    let server = try await PolicyServer(bench)
    let run = try await bench.run(yaml("https://127.0.0.1:\(server.port)", "{}"))
    #expect(run.state("a") == "failed TLS_FAILED", "\(run.errors)")
    #expect(run["a"]["error"]["message"].string?.contains("does not speak TLS") == true)
  }
}
