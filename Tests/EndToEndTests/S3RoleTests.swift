import Foundation
import TestSupport
import Testing

/// AWS profiles with a role: its keys are had from the security token service, by the keys of another profile.
@Suite(.turns)
struct S3RoleTests {
  private static let arn = "arn:aws:iam::123456789012:role/backup+x"
  private static let secret = "s3cr3t-0f-gold", next = "s3cr3t-two-lead", token = "t0ken/two+tin=="
  private static let keys = """
    {"AKIDONE": {"secret": "\(secret)"}, "AKIDTWO": {"secret": "\(next)", "token": "\(token)"}}
    """

  private func profiles(_ bench: Bench) throws {
    try bench.scratch.write(
      ".aws/credentials",
      """
      [base]
      aws_access_key_id = AKIDONE
      aws_secret_access_key = \(Self.secret)
      [own]
      aws_access_key_id = AKIDONE
      aws_secret_access_key = \(Self.secret)
      """)
    let process = try bench.scratch.write(
      "process.json", #"{"Version": 1, "AccessKeyId": "AKIDONE", "SecretAccessKey": "\#(Self.secret)"}"#)
    try bench.scratch.write(
      ".aws/config",
      """
      [profile backup]
      role_arn = \(Self.arn)
      source_profile = base
      role_session_name = nightly
      external_id = x/1
      duration_seconds = 1800
      [profile own]
      role_arn = \(Self.arn)
      source_profile = own
      external_id = x/1
      [profile called]
      role_arn = \(Self.arn)
      source_profile = process
      external_id = x/1
      [profile process]
      credential_process = cat \(process)
      [profile wrong]
      role_arn = \(Self.arn)
      source_profile = base
      [profile lost]
      role_arn = \(Self.arn)
      [profile chain]
      role_arn = \(Self.arn)
      source_profile = backup
      """)
  }

  private func job(_ s3: StrictS3, _ profile: String) -> String {
    """
    version: 1
    job: roles
    policies: { p: { retry: { attempts: 2, initial: 10ms } } }
    endpoints: { s3: \(s3.endpoint("multipart_threshold: 5MiB", auth: "{ aws: { profile: \(profile) } }")) }
    defaults: { chunk_size: 5MiB, policy: p }
    transfers:
      - { id: up, upload: a.bin, to: "s3:a.bin" }
      - { id: down, download: "s3:a.bin", to: b.bin, needs: [up] }
    """
  }

  private func config(_ more: String = "") -> [String] {
    ["\"roles\": {\"\(Self.arn)\": {\"external\": \"x/1\", \"id\": \"AKIDTWO\"\(more)}}"]
  }

  @Test(arguments: ["backup", "own", "called"]) func assumed(_ profile: String) async throws {
    let bench = try Bench()
    let s3 = try await StrictS3(bench, config: config(), keys: Self.keys)
    try profiles(bench)
    try bench.source("a.bin", size: 20 << 20)
    let events = bench.scratch.path + "/events.jsonl"
    let run = try await bench.run(
      job(s3, profile), ["--events", events, "--log-level", "debug"],
      environment: ["AWS_ENDPOINT_URL_STS": s3.url])
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.faults == "")
    #expect(try Sums.file(bench.job + "/b.bin") == Sums.file(bench.job + "/a.bin"))
    // Asked once, by the one; all else is signed by the role's keys.
    #expect(s3.log().filter { $0.op == "assume" }.map(\.who) == ["AKIDONE"])
    #expect(s3.log().filter { $0.op != "assume" }.allSatisfy { $0.who == "AKIDTWO" })
    for secret in [Self.secret, Self.next, Self.token] {
      #expect(!(run.end.output + run.end.errors).contains(secret))
      let found = try Sums.shell(
        "grep -rlaF '\(secret)' state report.json events.jsonl || true", in: bench.scratch.path)
      #expect(found == "", "\(secret)")
    }
  }

  @Test func assumedAgainBeforeTheEnd() async throws {
    let bench = try Bench()
    let s3 = try await StrictS3(
      bench, config: config(", \"life\": 3") + ["\"rate\": 3000000"], keys: Self.keys)
    try profiles(bench)
    try bench.source("a.bin", size: 40 << 20)
    let run = try await bench.run(job(s3, "backup"), environment: ["AWS_ENDPOINT_URL_STS": s3.url])
    #expect(run.status == 0, "\(run.errors)")
    let log = s3.log()
    #expect(log.count { $0.op == "assume" } >= 2)
    #expect(log.allSatisfy { $0.status < 400 || $0.op == "head" })
  }

  @Test func refusalsSayWhy() async throws {
    let bench = try Bench()
    let s3 = try await StrictS3(bench, config: config(), keys: Self.keys)
    try profiles(bench)
    try bench.source("a.bin", size: 10)
    for (profile, state, words) in [
      ("wrong", "failed UNAUTHORIZED", "can't be assumed: AccessDenied: User is not authorized"),
      ("lost", "paused retries SECRET_UNAVAILABLE", "no `source_profile`"),
      ("chain", "paused retries SECRET_UNAVAILABLE", "a role that another role assumes"),
    ] {
      let run = try await bench.run(
        job(s3, profile), ["--new-run"], environment: ["AWS_ENDPOINT_URL_STS": s3.url])
      #expect(run.state("up") == state, "\(run.errors)")
      #expect(run["up"]["error"]["message"].string?.contains(words) == true, "\(run["up"]["error"])")
    }
    #expect(s3.log().allSatisfy { $0.op == "assume" })
  }

  /// moto has a security token service of its own.
  @Test func overMoto() async throws {
    let bench = try Bench()
    let moto = try await Moto(bench)
    try profiles(bench)
    try bench.source("a.bin", size: 1000)
    let run = try await bench.run(
      """
      version: 1
      job: roles
      endpoints: { moto: { type: s3, url: "\(moto.url)", bucket: bkt, auth: { aws: { profile: backup } } } }
      transfers: [{ id: up, upload: a.bin, to: "moto:a.bin" }]
      """, environment: ["AWS_ENDPOINT_URL": moto.url])
    #expect(run.status == 0, "\(run.errors)")
    #expect(try await moto.sums()["a.bin"] == Sums.file(bench.job + "/a.bin"))
    #expect(moto.visits.contains { $0.contains("\"POST / HTTP") && $0.contains(" 200") }, "\(moto.visits)")
  }
}
