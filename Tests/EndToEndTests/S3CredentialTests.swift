import Foundation
import TestSupport
import Testing

/// Where keys come from, how they are renewed, and that they stay where they belong.
@Suite(.turns)
struct S3CredentialTests {
  private static let secret = "s3cr3t-0f-gold", token = "t0ken/of+silver=="
  private static let next = "s3cr3t-two-lead", nextToken = "t0ken/two+tin=="
  private static let keys = """
    {"AKIDONE": {"secret": "\(secret)", "token": "\(token)"}, "AKIDTWO": {"secret": "\(next)", "token": "\(nextToken)"}}
    """
  /// The first one expires when three parts have been taken.
  private static let expiring = keys.replacing(
    "\"token\": \"\(token)\"", with: "\"token\": \"\(token)\", \"parts\": 3")

  private func job(_ s3: StrictS3, auth: String) -> String {
    """
    version: 1
    job: keys
    policies: { p: { retry: { attempts: 3, initial: 10ms } } }
    endpoints: { s3: \(s3.endpoint("multipart_threshold: 5MiB", auth: auth)) }
    defaults: { chunk_size: 5MiB, policy: p }
    transfers:
      - { id: up, upload: a.bin, to: "s3:a.bin" }
      - { id: down, download: "s3:a.bin", to: b.bin, needs: [up] }
    """
  }

  private func process(
    _ id: String, _ secret: String, _ token: String, _ expiry: String = "2099-01-01T00:00:00Z"
  ) -> String {
    #"{"Version": 1, "AccessKeyId": "\#(id)", "SecretAccessKey": "\#(secret)", "SessionToken": "\#(token)", "Expiration": "\#(expiry)"}"#
  }

  @Test func expiredInTheMiddleRenewedAndNeverSeen() async throws {
    let bench = try Bench()
    let s3 = try await StrictS3(bench, keys: Self.expiring)
    try bench.source("a.bin", size: 40 << 20)
    let first = try bench.scratch.write("first.json", process("AKIDONE", Self.secret, Self.token))
    let second = try bench.scratch.write("second.json", process("AKIDTWO", Self.next, Self.nextToken))
    // The first call gives the keys that will expire, later ones the others.
    let script = try bench.scratch.write(
      "give.sh", "if [ -e used ]; then cat \(second); else touch used; cat \(first); fi")
    let events = bench.scratch.path + "/events.jsonl"
    let run = try await bench.run(
      job(s3, auth: "{ aws: { command: [sh, \(quoted(script))] } }"),
      ["--events", events, "--log-level", "debug"])
    #expect(run.status == 0, "\(run.errors)")
    #expect(try Sums.file(bench.job + "/b.bin") == Sums.file(bench.job + "/a.bin"))
    let parts = s3.log().filter { $0.op == "part" }
    #expect(parts.contains { $0.status == 400 && $0.who == "AKIDONE" })
    #expect(parts.contains { $0.status == 200 && $0.who == "AKIDTWO" })
    #expect(parts.count { $0.status == 200 } == 8)
    for secret in [Self.secret, Self.token, Self.next, Self.nextToken] {
      #expect(!(run.end.output + run.end.errors).contains(secret))
      let found = try Sums.shell(
        "grep -rlaF '\(secret)' state report.json events.jsonl || true", in: bench.scratch.path)
      #expect(found == "", "\(secret)")
    }
  }

  /// Of a download, killed as well: what a kill leaves of the ledger is searched too.
  @Test func expiredWhileReadAndNeverSeen() async throws {
    let bench = try Bench()
    let s3 = try await StrictS3(bench, keys: Self.keys)
    try bench.source("a.bin", size: 8 << 20)
    let first = try bench.scratch.write("first.json", process("AKIDONE", Self.secret, Self.token))
    let second = try bench.scratch.write("second.json", process("AKIDTWO", Self.next, Self.nextToken))
    let script = try bench.scratch.write(
      "give.sh", "if [ -e used ]; then cat \(second); else touch used; cat \(first); fi")
    let yaml = job(s3, auth: "{ aws: { command: [sh, \(quoted(script))] } }")
      .replacing("chunk_size: 5MiB", with: "chunk_size: 256KiB")
    let up = try await bench.run(yaml, ["--only", "up"])
    #expect(up.state("up") == "completed", "\(up.errors)")
    _ = try Sums.shell("rm used", in: bench.job)
    let before = s3.log().count
    let limited = Self.keys.replacing(
      "\"token\": \"\(Self.token)\"", with: "\"token\": \"\(Self.token)\", \"requests\": \(before + 6)")
    // Slow enough that a busy machine sees the second key before the end.
    try s3.set(["\"rate\": 700000"], keys: limited)
    let events = bench.scratch.path + "/events.jsonl"
    let options = ["--events", events, "--log-level", "debug"]
    let running = try bench.start(bench.runArguments(options))
    try await RemoteKills.wait(while: {
      !s3.log().dropFirst(before).contains { $0.op == "get" && $0.who == "AKIDTWO" } && running.isAlive
    })
    running.signal(SIGKILL)
    let killed = try await running.wait()
    #expect(killed.status == 128 + SIGKILL)
    func search(_ end: Finished) throws {
      for secret in [Self.secret, Self.token, Self.next, Self.nextToken] {
        #expect(!(end.output + end.errors).contains(secret))
        let found = try Sums.shell(
          "grep -rlaF '\(secret)' state report.json events.jsonl || true", in: bench.scratch.path)
        #expect(found == "", "\(secret)")
      }
    }
    try search(killed)
    let run = try await bench.run(nil, options)
    #expect(run.status == 0, "\(run.errors)")
    #expect(try Sums.file(bench.job + "/b.bin") == Sums.file(bench.job + "/a.bin"))
    let gets = s3.log().dropFirst(before).filter { $0.op == "get" }
    #expect(gets.contains { $0.status == 400 && $0.who == "AKIDONE" })
    #expect(gets.contains { $0.status == 206 && $0.who == "AKIDTWO" })
    try search(run.end)
  }

  @Test func renewedBeforeTheyExpire() async throws {
    let bench = try Bench()
    let s3 = try await StrictS3(bench, config: ["\"rate\": 3000000"], keys: Self.keys)
    try bench.source("a.bin", size: 30 << 20)
    let calls = bench.scratch.path + "/calls"
    let script = try bench.scratch.write(
      "give.sh",
      """
      echo x >> \(calls)
      when=$(date -u -d '+2 seconds' +%Y-%m-%dT%H:%M:%SZ)
      echo '\(process("AKIDONE", Self.secret, Self.token, "WHEN"))' | sed "s/WHEN/$when/"
      """)
    let run = try await bench.run(job(s3, auth: "{ aws: { command: [sh, \(quoted(script))] } }"))
    #expect(run.status == 0, "\(run.errors)")
    let count = try String(contentsOfFile: calls, encoding: .utf8).split(separator: "\n").count
    #expect(count >= 2)
    #expect(count < s3.log().count, "kept while they are good")
    #expect(s3.log().allSatisfy { $0.status < 400 || $0.op == "head" })
  }

  @Test func everySource() async throws {
    let bench = try Bench()
    let s3 = try await StrictS3(bench, keys: Self.keys)
    try bench.source("a.bin", size: 100)
    try bench.scratch.write(
      ".aws/credentials",
      """
      # mine
      [default]
      aws_access_key_id = AKIDONE
      aws_secret_access_key = \(Self.secret)
      aws_session_token = \(Self.token)
      [empty]
      [mfa]
      aws_access_key_id = AKIDONE
      aws_secret_access_key = \(Self.secret)
      aws_session_token = \(Self.token)
      role_arn = arn:aws:iam::123456789012:role/backup
      source_profile = mfa
      mfa_serial = arn:aws:iam::123456789012:mfa/anna
      """)
    let given = try bench.scratch.write("given two.json", process("AKIDTWO", Self.next, Self.nextToken))
    let config = try bench.scratch.write(
      "elsewhere/config",
      """
      [profile made]
      region = eu-west-1
      s3 =
        max_concurrent_requests = 20
      credential_process = cat "\(given)"
      """)
    let secretFile = try bench.scratch.write("secret.txt", Self.secret + "\n")
    #expect(chmod(secretFile, 0o600) == 0)
    let sources: [(String, String, [String: String])] = [
      ("AKIDONE", "{ aws: { profile: default } }", [:]),
      ("AKIDTWO", "{ aws: { profile: made } }", ["AWS_CONFIG_FILE": config]),
      ("AKIDTWO", "{ aws: { env: true } }", ["AWS_CONFIG_FILE": config, "AWS_PROFILE": "made"]),
      (
        "AKIDTWO", "{ aws: { env: true } }",
        [
          "AWS_ACCESS_KEY_ID": "AKIDTWO", "AWS_SECRET_ACCESS_KEY": Self.next,
          "AWS_SESSION_TOKEN": Self.nextToken,
        ]
      ),
      (
        "AKIDONE",
        "{ aws: { access_key_id: AKIDONE, secret_access_key: { file: \(quoted(secretFile)) }, session_token: { env: TOKEN } } }",
        ["TOKEN": Self.token]
      ),
    ]
    for (who, auth, environment) in sources {
      let before = s3.log().count
      let run = try await bench.run(job(s3, auth: auth), ["--new-run"], environment: environment)
      #expect(run.status == 0, "\(auth): \(run.errors)")
      #expect(s3.log().dropFirst(before).allSatisfy { $0.who == who }, "\(auth)")
    }
    for (auth, word) in [
      ("{ aws: { profile: nobody } }", "no AWS profile `nobody`"),
      ("{ aws: { profile: empty } }", "neither keys nor a `credential_process`"),
      ("{ aws: { profile: mfa } }", "has a `mfa_serial`, which haul does not follow"),
      ("{ aws: { command: [echo, hello] } }", "no JSON object"),
      ("{ aws: { command: [\"false\"] } }", "ended with 1"),
    ] {
      let run = try await bench.run(job(s3, auth: auth), ["--new-run"])
      #expect(run.state("up") == "paused retries SECRET_UNAVAILABLE")
      #expect(run["up"]["error"]["message"].string?.contains(word) == true, "\(run["up"]["error"])")
    }
  }
}
