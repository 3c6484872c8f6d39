import Foundation
import TestSupport
import Testing

/// Servers that repeat what they were sent: no secret gets into the state, the report, events, standard error or a
/// file's name, in whatever coding.
@Suite(.turns)
struct EchoedSecretsTests {
  private static let token = "tok3n.of-gold", password = "p4ss word/of+tin", client = "cl1ent-of-zinc"

  /// A message is cut where it gets too long: not amid a secret, of which no mask would find the rest.
  @Test(arguments: ["application/json", "text/plain"]) func cutAmidASecret(_ type: String) async throws {
    let bench = try Bench()
    let secret = (0..<30).map { "part\($0)of" }.joined()
    let text = String(repeating: "a ", count: 80) + secret
    let body = type == "text/plain" ? text : #"{"error": {"message": "\#(text)"}}"#
    let server = try await WordedServer(
      bench, [.init("", status: 403, headers: ["Content-Type": type], body: body)])
    let run = try await bench.run(
      """
      version: 1
      job: cut
      endpoints: { web: { type: http, url: "\(server.url)", auth: { bearer: { env: TOKEN } } } }
      transfers: [{ id: f, download: "web:f", to: f }]

      """, environment: ["TOKEN": secret])
    let message = run["f"]["error"]["message"].string ?? ""
    #expect(run.state("f") == "failed FORBIDDEN" && message.contains("a a ***"), "\(message)")
    #expect(!run.errors.contains("part0of") && !message.contains("part0of"))
  }

  /// What a request is signed with is good for minutes: a gateway may quote it.
  @Test func signatures() async throws {
    let bench = try Bench()
    let digits = String(repeating: "2b16a97d", count: 8)
    let header = "AWS4-HMAC-SHA256 Credential=AKID/20260102/us-east-1/s3/aws4_request, Signature=\(digits)"
    let body = "<Error><Code>AccessDenied</Code><Message>denied for \(header)</Message></Error>"
    let server = try await WordedServer(
      bench, [.init("", status: 403, headers: ["Content-Type": "application/xml"], body: body)])
    let run = try await bench.run(
      """
      version: 1
      job: signatures
      endpoints:
        s3: { type: s3, url: "\(server.url)", bucket: b, auth: { aws: { access_key_id: AKID, secret_access_key: { env: KEY } } } }
      transfers: [{ id: f, download: "s3:f", to: f }]

      """, environment: ["KEY": "k3y-of-gold"])
    let message = run["f"]["error"]["message"].string ?? ""
    #expect(run.state("f") == "failed FORBIDDEN" && message.contains("aws4_request, ***"), "\(message)")
    let found = try Sums.shell("grep -rlaF '2b16a97d' state report.json || true", in: bench.scratch.path)
    #expect(found == "" && !run.errors.contains("2b16a97d"))
  }

  @Test func nowhere() async throws {
    let bench = try Bench()
    let server = try await EchoServer(bench)
    try bench.serve("f", size: 200_000)
    try bench.source("up.bin", size: 100_000)
    let codings = ["raw", "percent", "base64", "json"]
    let places = ["etag", "name", "type", "location", "problem", "gone"]
    var lines: [String] = []
    for endpoint in ["bearer", "basic", "key"] {
      for place in places {
        for coding in codings + (endpoint == "basic" ? ["plain"] : []) {
          let id = "\(endpoint)-\(place)-\(coding)"
          lines.append("{ id: \(id), download: \"\(endpoint):\(place)/\(coding)/f\", to: out/\(id)/ }")
        }
      }
    }
    lines.append("{ id: grant, download: \"oauth:etag/raw/f\", to: grant.bin }")
    lines.append("{ id: session, upload: up.bin, to: \"session:up.bin\" }")
    let events = bench.scratch.path + "/events.jsonl"
    let environment = ["TOKEN": Self.token, "PASSWORD": Self.password, "CLIENT": Self.client]
    let run = try await bench.run(
      """
      version: 1
      job: echoes
      policies: { p: { retry: { attempts: 2, initial: 10ms } } }
      endpoints:
        bearer: { type: http, url: "\(server.url)", auth: { bearer: { env: TOKEN } } }
        basic: { type: http, url: "\(server.url)", auth: { basic: { user: me, password: { env: PASSWORD } } } }
        key: { type: http, url: "\(server.url)", headers: { X-Key: { env: PASSWORD } } }
        session: { type: session, url: "\(server.url)", auth: { bearer: { env: TOKEN } } }
        oauth:
          type: http
          url: "\(server.url)"
          auth:
            oauth2: { grant: client_credentials, token_url: "\(server.url)/token", client_id: me, client_secret: { env: CLIENT } }
      defaults: { policy: p, chunk_size: 64KiB }
      transfers:
      \(lines.map { "  - " + $0 }.joined(separator: "\n"))
      """, ["--events", events, "--log-level", "debug"], environment: environment)
    #expect(run.faults == "")
    #expect(run.state("bearer-etag-raw") == "completed" && run["bearer-etag-raw"]["etag"].string == nil)
    #expect(run.state("bearer-name-raw") == "completed")
    #expect(run.state("bearer-location-raw") == "failed NOT_FOUND")
    #expect(run.state("grant") == "failed UNAUTHORIZED")
    #expect(run["grant"]["error"]["message"].string?.contains("the secret *** is wrong") == true)
    #expect(run.state("session").hasSuffix("PROTOCOL_VIOLATION"))
    var told = run.end.output + run.errors
    for command in [["report", "echoes"], ["status", "echoes"], ["history", "echoes"]] {
      for format in [[], ["--json"]] { told += try await bench.haul(command + format).output }
    }
    let basic = Data("me:\(Self.password)".utf8).base64EncodedString()
    for secret in [Self.token, Self.password, Self.client, basic] {
      let forms = [
        secret, secret.replacingOccurrences(of: "/", with: "\\/"),
        secret == basic ? basic : Data(secret.utf8).base64EncodedString(),
        secret.utf8.map { String(format: "%%%02x", $0) }.joined(),
        secret.addingPercentEncoding(withAllowedCharacters: .alphanumerics) ?? secret,
      ]
      for form in Set(forms) {
        #expect(!told.contains(form), "\(form)")
        let patterns = try bench.scratch.write("pattern", form + "\n")
        let found = try Sums.shell(
          "grep -rlaF -f \(patterns) state report.json events.jsonl || true; find job | grep -F -f \(patterns) || true",
          in: bench.scratch.path)
        #expect(found == "", "\(form)")
      }
    }
    // They did reach the server.
    #expect(told.contains("***"))
  }
}
