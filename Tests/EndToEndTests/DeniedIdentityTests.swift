import Foundation
import TestSupport
import Testing

/// Services that give credentials are hosts like others: a policy that denies them keeps secrets from them.
@Suite(.turns)
struct DeniedIdentityTests {
  private static let rules = [
    "hosts: { allow: [localhost] }", "hosts: { deny: [\"127.0.0.1\"] }",
  ]

  @Test(arguments: rules) func tokenEndpoint(_ rule: String) async throws {
    let bench = try Bench()
    try bench.serve("f.bin", size: 1000)
    let server = try await SalesforceServer(
      bench, [.init("068Ab0000004C92", of: "069Ab0000001Zz9", file: "f.bin")])
    // The secret's command tells that it ran.
    let proof = bench.scratch.path + "/resolved"
    let secret = "{ command: [sh, -c, \"touch \(proof); echo \(SalesforceServer.clientSecret)\"] }"
    func job(_ network: String) -> String {
      """
      version: 1
      job: denied
      endpoints:
        sf:
          type: salesforce
          url: "\(server.url.replacingOccurrences(of: "127.0.0.1", with: "localhost"))"
          auth:
            oauth2:
              grant: client_credentials
              token_url: "\(server.url)/services/oauth2/token"
              client_id: \(SalesforceServer.clientID)
              client_secret: \(secret)
      policies: { p: { retry: { attempts: 2, initial: 10ms }, network: { proxy: none, \(network) } } }
      defaults: { policy: p }
      transfers: [{ id: a, download: "sf:068Ab0000004C92", to: a.bin }]
      """
    }
    let denied = try await bench.run(job(rule))
    #expect(denied.state("a") == "failed POLICY_DENIED", "\(denied.errors)")
    #expect(denied["a"]["error"]["message"].string?.contains("nothing was sent") == true)
    #expect(denied.faults == "" && denied.status == 1)
    #expect(server.log().isEmpty && !FileManager.default.fileExists(atPath: proof))
    // The same way is open where nothing denies it.
    let open = try await bench.run(job("hosts: { allow: [localhost, \"127.0.0.1\"] }"))
    #expect(open.status == 0 && !server.log().isEmpty, "\(open.errors)")
  }

  @Test func securityTokenService() async throws {
    let bench = try Bench()
    let role = "arn:aws:iam::123456789012:role/backup"
    let s3 = try await StrictS3(
      bench, config: ["\"roles\": {\"\(role)\": {\"external\": \"x\", \"id\": \"AKIDTWO\"}}"],
      keys: """
        {"AKIDONE": {"secret": "s3cr3t-0f-gold"}, "AKIDTWO": {"secret": "s3cr3t-two-lead", "token": "t0ken"}}
        """)
    try bench.scratch.write(
      ".aws/credentials", "[base]\naws_access_key_id = AKIDONE\naws_secret_access_key = s3cr3t-0f-gold\n")
    try bench.scratch.write(
      ".aws/config", "[profile backup]\nrole_arn = \(role)\nsource_profile = base\nexternal_id = x\n")
    try bench.source("a.bin", size: 1000)
    func job(_ allowed: String) -> String {
      """
      version: 1
      job: denied
      policies: { p: { retry: { attempts: 2, initial: 10ms }, network: { proxy: none, hosts: { allow: [\(allowed)] } } } }
      endpoints: { s3: \(s3.endpoint(auth: "{ aws: { profile: backup } }")) }
      defaults: { policy: p }
      transfers: [{ id: up, upload: a.bin, to: "s3:a.bin" }]
      """
    }
    let service = s3.url.replacingOccurrences(of: "127.0.0.1", with: "localhost")
    let denied = try await bench.run(job("\"127.0.0.1\""), environment: ["AWS_ENDPOINT_URL_STS": service])
    #expect(denied.state("up") == "failed POLICY_DENIED", "\(denied.errors)")
    #expect(s3.log().isEmpty)
    let open = try await bench.run(
      job("\"127.0.0.1\", localhost"), environment: ["AWS_ENDPOINT_URL_STS": service])
    #expect(open.status == 0 && s3.log().contains { $0.op == "assume" }, "\(open.errors)")
  }
}
