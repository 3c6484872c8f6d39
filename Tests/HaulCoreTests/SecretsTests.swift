import Endpoints
import Foundation
import HTTPClient
import JobLedger
import JobManifest
import JobModel
import Testing
import TestSupport

@testable import HaulCore

struct SecretsTests {
  @Test func variables() throws {
    let secrets = Secrets(ProcessEnvironment(["A": "1", "LINE": "word\r\n", "EMPTY": "\n"], userHome: "/"))
    #expect(try secrets.variable("A").reveal() == "1" && secrets.variable("LINE").reveal() == "word")
    #expect(try #require(throws: Failure.self) { try secrets.variable("EMPTY") }.message.contains("empty"))
    #expect(try #require(throws: Failure.self) { try secrets.variable("B") }.message.contains("not set"))
  }

  @Test func filesAreForTheirOwnerAlone() throws {
    let scratch = try CoreFixture().scratch
    let path = try scratch.write("secret", "word\n\n", mode: 0o600)
    #expect(try Secrets.file(path).reveal() == "word")
    chmod(path, 0o640)
    #expect(try #require(throws: Failure.self) { try Secrets.file(path) }.message.contains("chmod 600"))
    #expect(
      try #require(throws: Failure.self) { try Secrets.file(path + "s") }.message.contains("does not exist"))
    let long = try scratch.write("long", String(repeating: "a", count: (1 << 20) + 1), mode: 0o600)
    #expect(try #require(throws: Failure.self) { try Secrets.file(long) }.message.contains("1 MiB"))
    let empty = try scratch.write("empty", "\n", mode: 0o600)
    #expect(try #require(throws: Failure.self) { try Secrets.file(empty) }.message.contains("is empty"))
  }

  @Test func keysOfTheEnvironment() async throws {
    let full = ["AWS_ACCESS_KEY_ID": "A", "AWS_SECRET_ACCESS_KEY": "S", "AWS_SESSION_TOKEN": "T"]
    let keys = try await AWSCredentialSource(ProcessEnvironment(full, userHome: "/")).keys(.environment)
    #expect(keys.accessKeyID == "A" && keys.sessionToken?.reveal() == "T")
    let none = AWSCredentialSource(ProcessEnvironment(["AWS_ACCESS_KEY_ID": "A"], userHome: "/"))
    #expect(throws: Failure.self) { try none.check() }
    try AWSCredentialSource(ProcessEnvironment(["AWS_PROFILE": "p"], userHome: "/")).check()
    let torn = AWSCredentialSource(
      ProcessEnvironment(["AWS_ACCESS_KEY_ID": "A\n", "AWS_SECRET_ACCESS_KEY": "S"], userHome: "/"))
    await #expect(throws: Failure.self) { try await torn.keys(.environment) }
  }

  @Test func netrc() throws {
    let fixture = try CoreFixture()
    let path = try fixture.scratch.write(
      "netrc", "machine a.example login u password p\nmachine b.example login u\n", mode: 0o600)
    let environment = ProcessEnvironment(["NETRC": path], userHome: "/")
    let login = try Netrc.login(for: "a.example", environment)
    #expect(login.user == "u" && login.password.reveal() == "p")
    #expect(throws: Failure.self) { try Netrc.login(for: "b.example", environment) }
    #expect(throws: Failure.self) { try Netrc.login(for: "c.example", environment) }
    #expect(throws: Failure.self) {
      try Netrc.login(for: "a.example", ProcessEnvironment([:], userHome: "/"))
    }
    chmod(path, 0o644)
    #expect(throws: Failure.self) { try Netrc.login(for: "a.example", environment) }
    // A service may have no `HOME`: its user has one all the same.
    try fixture.scratch.write(".netrc", "machine a.example login v password q\n", mode: 0o600)
    let found = try Netrc.login(for: "a.example", ProcessEnvironment([:], userHome: fixture.scratch.path))
    #expect(found.user == "v")
  }

  @Test func missingSecretsAreNamedOnce() throws {
    let text = """
      version: 1
      job: core
      endpoints:
        web: { type: http, url: "https://example.com", auth: { bearer: { env: TOKEN } } }
      transfers: [{ id: one, download: "web:a", to: in/a }, { id: two, download: "web:b", to: in/b }]

      """
    for (variables, count) in [([:], 1), (["TOKEN": "t"], 0)] as [([String: String], Int)] {
      let fixture = try CoreFixture(variables)
      let file = try fixture.manifest(text)
      let read = file.read(overrides: [:])
      let job = try #require(read.job, "\(read.diagnostics)")
      let opened = try #require(
        try JobOpening.open(file, RunSettings(), state: fixture.state, reports: try fixture.reports()))
      let check = SecretCheck(job, Secrets(fixture.environment))
      #expect(try check.forTransfers(opened.ledger, selected: nil, isNewRun: true).count == count)
      #expect(check.forListings() == [])
    }
  }

  /// Those of attach requests, too: what is moved would wait for them.
  @Test func secretsOfThen() throws {
    let text = """
      version: 1
      job: core
      endpoints:
        api: { type: http, url: "https://example.com", auth: { bearer: { env: TOKEN } } }
      defaults: { then: { post: "api:r", headers: { X-Key: { env: KEY } } } }
      transfers: [{ id: one, download: "https://example.com/a", to: in/a, enabled: ENABLED }]

      """
    for (variables, isEnabled, count) in [
      ([:], true, 2), (["TOKEN": "t"], true, 1), (["TOKEN": "t", "KEY": "k"], true, 0), ([:], false, 0),
    ] as [([String: String], Bool, Int)] {
      let fixture = try CoreFixture(variables)
      let file = try fixture.manifest(text.replacing("ENABLED", with: "\(isEnabled)"))
      let read = file.read(overrides: [:])
      let job = try #require(read.job, "\(read.diagnostics)")
      let opened = try #require(
        try JobOpening.open(file, RunSettings(), state: fixture.state, reports: try fixture.reports()))
      let check = SecretCheck(job, Secrets(fixture.environment))
      #expect(try check.forTransfers(opened.ledger, selected: nil, isNewRun: true).count == count)
    }
  }

  /// What proves servers, and haul to them, is missed before the first request, where a transfer with a turn needs it.
  @Test func filesOfTrust() throws {
    let text = """
      version: 1
      job: core
      endpoints:
        ssh: { type: sftp, url: "sftp://example.com", known_hosts: hosts, auth: { ssh: { user: u, agent: true } } }
        web: { type: http, url: "https://example.com", tls: { ca_file: end.pem } }
      policies:
        p: { tls: { ca_file: ca.pem, client_cert: me.pem, client_key: me.key } }
        other: { tls: { ca_file: unused.pem } }
      transfers:
        - { id: one, download: "ssh:a", to: in/a, enabled: SSH }
        - { id: two, download: "https://example.com/b", to: in/b, policy: p }
        - { id: three, download: "web:c", to: in/c }

      """
    for (isEnabled, files, missing) in [
      (true, [], ["ca_file", "ca_file", "client_cert", "client_key", "known_hosts"]),
      (false, ["ca.pem", "me.pem"], ["ca_file", "client_key"]),
      (false, ["ca.pem", "me.pem", "me.key", "end.pem"], []),
    ] as [(Bool, [String], [String])] {
      let fixture = try CoreFixture([:])
      let file = try fixture.manifest(text.replacing("SSH", with: "\(isEnabled)"))
      for name in files {
        try "x".write(toFile: file.directory + "/" + name, atomically: true, encoding: .utf8)
      }
      let read = file.read(overrides: [:])
      let job = try #require(read.job, "\(read.diagnostics)")
      let opened = try #require(
        try JobOpening.open(file, RunSettings(), state: fixture.state, reports: try fixture.reports()))
      let found = try SecretCheck(job, Secrets(fixture.environment))
        .forTransfers(opened.ledger, selected: nil, isNewRun: true)
      #expect(
        found.compactMap { $0.message.split(separator: "`").dropFirst().first.map(String.init) }.sorted()
          == missing)
    }
  }

  @Test func exchangedTokensAreKeptForTheirOwner() async throws {
    let fixture = try CoreFixture()
    let folder = fixture.scratch.path + "/tokens"
    let keeping = KeptTokens.keeping(in: folder)
    #expect(keeping.read("a") == nil)
    try await keeping.write("a", Secret("1"))
    try await keeping.write("b", Secret("2"))
    try await keeping.write("a", Secret("3"))
    let again = KeptTokens.keeping(in: folder)
    #expect(again.read("a")?.reveal() == "3" && again.read("b")?.reveal() == "2")
    let path = folder + "/" + KeptTokens.fileName
    let mode = try FileManager.default.attributesOfItem(atPath: path)[.posixPermissions]
    #expect(mode as? Int == 0o600)
  }
}
