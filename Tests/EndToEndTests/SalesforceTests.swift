import Foundation
import TestSupport
import Testing

/// Downloads of Salesforce Files, and the tokens that they take.
@Suite(.turns)
struct SalesforceTests {
  static let chunk = 65536
  static let first = "068Ab0000004C92"
  static let second = "068Ab0000004Dx3"
  static let document = "069Ab0000001Zz9"
  static let secrets = [
    "CLIENT_SECRET": SalesforceServer.clientSecret, "REFRESH_TOKEN": SalesforceServer.refreshToken,
  ]

  static func grant(_ server: SalesforceServer, _ grant: String) -> String {
    let more =
      switch grant {
      case "client_credentials":
        "client_id: \(SalesforceServer.clientID), client_secret: { env: CLIENT_SECRET }"
      case "refresh_token": "client_id: \(SalesforceServer.clientID), refresh_token: { env: REFRESH_TOKEN }"
      default:
        "jwt: { issuer: \(SalesforceServer.clientID), subject: \(SalesforceServer.user), audience: \"\(SalesforceServer.audience)\", key: { file: \(server.keyPath) } }"
      }
    return "{ oauth2: { grant: \(grant), token_url: \"\(server.url)/services/oauth2/token\", \(more) } }"
  }

  private func job(
    _ server: SalesforceServer, _ transfers: [String], via: String = "version_data",
    grant: String = "client_credentials", policy: String = ""
  ) -> String {
    """
    version: 1
    job: org
    endpoints: { sf: { type: salesforce, url: "\(server.url)", via: \(via), auth: \(Self.grant(server, grant)) } }
    policies: { p: { retry: { attempts: 4, initial: 20ms, max: 100ms }\(policy) } }
    defaults: { policy: p, chunk_size: 64KiB }
    transfers:
    \(transfers.map { "  - " + $0 }.joined(separator: "\n"))
    """
  }

  private func isProved(_ run: HaulRun, _ id: String) -> Bool {
    run[id]["verification"].array.contains {
      $0["check"].string == "md5" && $0["against"].string == "server" && $0["result"].string == "match"
    }
  }

  private func nothingKept(_ bench: Bench, _ server: SalesforceServer, _ run: HaulRun) throws {
    let all = server.tokens() + [SalesforceServer.clientSecret, SalesforceServer.refreshToken, "BEGIN RSA"]
    let patterns = try bench.scratch.write("patterns", all.joined(separator: "\n") + "\n")
    // An exchanged refresh token lies in a file of its own, for the next run.
    let found = try Sums.shell(
      "grep -rlF --exclude=tokens.json -f \(patterns) state report.json events.jsonl 2>/dev/null || true",
      in: bench.scratch.path)
    #expect(found == "")
    for secret in all { #expect(!run.errors.contains(secret) && !run.end.output.contains(secret)) }
  }

  @Test(arguments: ["version_data", "shepherd", "connect"]) func sizes(_ via: String) async throws {
    let bench = try Bench()
    let sizes = [0, 1, Self.chunk - 1, Self.chunk, Self.chunk + 1, 7 * Self.chunk]
    var versions: [SalesforceServer.Version] = []
    for (index, size) in sizes.enumerated() {
      try bench.serve("f\(size).bin", size: size, seed: UInt64(size + 1))
      versions.append(
        .init(
          "068Ab0000004C9\(index)", of: "069Ab0000001Zz\(index)", file: "f\(size).bin",
          name: "Deck ü \(size).bin"))
    }
    let server = try await SalesforceServer(bench, versions)
    let run = try await bench.run(
      job(
        server,
        sizes.enumerated().map { index, size in
          // Every other one by its document.
          "{ id: f\(size), download: \"sf:06\(index % 2 == 0 ? "8Ab0000004C9" : "9Ab0000001Zz")\(index)\", to: in/, verify: required }"
        }, via: via), environment: Self.secrets)
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.faults == "")
    for (index, size) in sizes.enumerated() {
      #expect(try bench.isSame("in/Deck ü \(size).bin", "f\(size).bin"), "\(size)")
      #expect(isProved(run, "f\(size)"))
      #expect(run["f\(size)"]["remote_id"].string?.hasPrefix("068Ab0000004C9\(index)") == true)
      #expect(run["f\(size)"]["remote_id"].string?.count == 18)
    }
    let again = try await bench.run(environment: Self.secrets)
    #expect(again.totals["up_to_date"].int == Int64(sizes.count), "\(again.errors)")
    #expect(again.transferred == 0)
  }

  @Test func bigByEachGrant() async throws {
    let bench = try Bench()
    try bench.serve("big.bin", size: 200 << 20, seed: 2)
    let server = try await SalesforceServer(bench, [.init(Self.first, of: Self.document, file: "big.bin")])
    let run = try await bench.run(
      job(
        server, ["{ id: big, download: \"sf:\(Self.first)\", to: big.bin, chunk_size: 8MiB }"],
        via: "shepherd", grant: "jwt_bearer"), environment: Self.secrets, limit: .seconds(240))
    #expect(run.status == 0, "\(run.errors)")
    #expect(try bench.isSame("big.bin", "big.bin") && isProved(run, "big"))
    #expect(server.log().filter { $0["what"].string == "token" }.map { $0["status"].int } == [200])
    try nothingKept(bench, server, run)
  }

  @Test(arguments: ["version_data", "shepherd", "connect"]) func kills(_ via: String) async throws {
    // Four in flight, and what one commit had not yet recorded.
    try await RemoteKills.torture("salesforce \(via)", cost: 10 * Self.chunk) { seed in
      let bench = try Bench()
      let size = 6 << 20
      try bench.serve("a.bin", size: size, seed: seed)
      let server = try await SalesforceServer(
        bench, [.init(Self.first, of: Self.document, file: "a.bin")], options: #""rate": 600000"#)
      let grant = ["client_credentials", "refresh_token", "jwt_bearer"][Int(seed % 3)]
      try bench.writeJob(
        job(
          server, ["{ id: one, download: \"sf:\(Self.document)\", to: a.bin }"], via: via, grant: grant))
      let moved = {
        server.log().filter { $0["what"].string == "bytes" }.reduce(0) { $0 + ($1["bytes"].int ?? 0) }
      }
      return RemoteKills.Round(
        bench: bench, environment: Self.secrets,
        isBegun: { moved() > 0 }, isOver: { moved() >= size },
        settle: { run throws -> Int64 in
          #expect(try bench.isSame("a.bin", "a.bin") && isProved(run, "one"))
          return moved() - Int64(size)
        })
    }
  }

  /// A newer version changes nothing for what has begun.
  @Test func pinnedOverAStop() async throws {
    let bench = try Bench()
    let size = 3 << 20
    try bench.serve("a.bin", size: size, seed: 3)
    let server = try await SalesforceServer(
      bench, [.init(Self.first, of: Self.document, file: "a.bin")], options: #""rate": 600000"#)
    try bench.writeJob(
      job(server, ["{ id: one, download: \"sf:\(Self.document)\", to: a.bin }"], grant: "refresh_token"))
    let events = bench.scratch.path + "/events.jsonl"
    let running = try bench.start(bench.runArguments(["--events", events]), environment: Self.secrets)
    try await RemoteKills.wait(while: {
      !JSON.lines(events).contains { $0["event"].string == "chunk_completed" } && running.isAlive
    })
    running.signal(SIGTERM)
    #expect(try await running.wait().status == 75)
    try bench.serve("b.bin", size: size, seed: 4)
    try server.hold([
      .init(Self.first, of: Self.document, file: "a.bin"),
      .init(Self.second, of: Self.document, number: 2, file: "b.bin"),
    ])
    let run = try await bench.run(environment: Self.secrets)
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.faults == "")
    #expect(try bench.isSame("a.bin", "a.bin") && isProved(run, "one"))
    #expect(run["one"]["remote_id"].string?.hasPrefix(Self.first) == true)
    #expect(run["one"]["source"].string?.contains(Self.document) == true)
    #expect((run["one"]["bytes"]["reused"].int ?? 0) > 0)
    // The next run takes the newer one.
    let next = try await bench.run(environment: Self.secrets)
    #expect(next.status == 0, "\(next.errors)")
    #expect(try bench.isSame("a.bin", "b.bin"))
    #expect(next["one"]["remote_id"].string?.hasPrefix(Self.second) == true)
  }

  /// No ranges: one stream.
  @Test func wholeInPlaceOfRange() async throws {
    let bench = try Bench()
    try bench.serve("a.bin", size: 5 * Self.chunk, seed: 5)
    let server = try await SalesforceServer(
      bench, [.init(Self.first, of: Self.document, file: "a.bin")], options: #""ranges": false"#)
    let run = try await bench.run(
      job(server, ["{ id: one, download: \"sf:\(Self.first)\", to: a.bin }"]), environment: Self.secrets)
    #expect(run.status == 0, "\(run.errors)")
    #expect(try bench.isSame("a.bin", "a.bin") && isProved(run, "one"))
    #expect(run.remarks.contains("one stream"), "\(run.remarks)")
  }

  /// A token that ends mid-transfer is renewed, in whatever words the service says so; a page is never taken for bytes.
  @Test(arguments: ["401", "403", "login", "redirect"]) func expiredToken(_ manner: String) async throws {
    let bench = try Bench()
    try bench.serve("a.bin", size: 24 * Self.chunk, seed: 6)
    let server = try await SalesforceServer(
      bench, [.init(Self.first, of: Self.document, file: "a.bin")],
      options: "\"ttl\": 3, \"rate\": 90000, \"expired\": \"\(manner)\"")
    let events = bench.scratch.path + "/events.jsonl"
    let run = try await bench.run(
      job(
        server, ["{ id: one, download: \"sf:\(Self.first)\", to: a.bin }"], policy: ", chunks_in_flight: 2"),
      ["--events", events, "--log-level", "debug"], environment: Self.secrets)
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.faults == "")
    #expect(try bench.isSame("a.bin", "a.bin") && isProved(run, "one"))
    let log = server.log()
    let tokens = log.count { $0["what"].string == "token" }
    #expect(tokens >= 2)
    #expect(log.contains { ["expired", "page"].contains($0["what"].string ?? "") })
    try nothingKept(bench, server, run)
  }

  /// A token whose end is told is renewed before it: no request is ever refused. Refresh tokens are exchanged.
  @Test func renewedInTime() async throws {
    let bench = try Bench()
    try bench.serve("a.bin", size: 24 * Self.chunk, seed: 6)
    let server = try await SalesforceServer(
      bench, [.init(Self.first, of: Self.document, file: "a.bin")],
      options: #""ttl": 20, "rate": 40000, "expires": true, "rotate": true"#)
    let run = try await bench.run(
      job(
        server, ["{ id: one, download: \"sf:\(Self.first)\", to: a.bin }"], grant: "refresh_token",
        policy: ", chunks_in_flight: 2"), environment: Self.secrets)
    #expect(run.status == 0, "\(run.errors)")
    #expect(try bench.isSame("a.bin", "a.bin"))
    let log = server.log()
    #expect(log.count { $0["what"].string == "token" } >= 2)
    #expect(log.filter { $0["what"].string == "token" }.allSatisfy { $0["status"].int == 200 })
    #expect(!log.contains { $0["status"].int == 401 }, "a token was used beyond its time")
    try nothingKept(bench, server, run)
    // The first refresh token was exchanged and is used up: the next process has the one that was given for it.
    let before = log.count
    let next = try await bench.run(
      job(
        server,
        [
          "{ id: one, download: \"sf:\(Self.first)\", to: a.bin, refresh: always }",
          "{ id: two, download: \"sf:\(Self.first)\", to: b.bin }",
        ], grant: "refresh_token"), environment: Self.secrets)
    #expect(next.status == 0, "\(next.errors)")
    // Bytes of the first run may be logged late.
    #expect(server.log().dropFirst(before).count { $0["what"].string == "token" } == 1)
    try nothingKept(bench, server, next)
    let mode = try Sums.shell("stat -c %a org/tokens.json", in: bench.state)
    #expect(mode == "600\n")
    // Without it the service says that it is used up, once for both transfers.
    _ = try Sums.shell("rm org/tokens.json", in: bench.state)
    let count = server.log().count
    let lost = try await bench.run(nil, environment: Self.secrets)
    #expect(lost.state("one") == "failed UNAUTHORIZED" && lost.state("two") == "failed UNAUTHORIZED")
    #expect(lost["two"]["error"]["message"].string?.contains("expired access/refresh token") == true)
    #expect(lost["two"]["error"]["message"].string?.contains("put a new one") == true)
    #expect(server.log().dropFirst(count).count { $0["what"].string == "token" } == 1)
  }

  /// Transfers share one token request.
  @Test func oneRenewalForAll() async throws {
    let bench = try Bench()
    try bench.serve("a.bin", size: 1000, seed: 6)
    let server = try await SalesforceServer(
      bench, [.init(Self.first, of: Self.document, file: "a.bin")], options: #""tokenDelay": 0.3"#)
    let run = try await bench.run(
      job(server, (0..<8).map { "{ id: t\($0), download: \"sf:\(Self.first)\", to: \($0).bin }" }),
      environment: Self.secrets)
    #expect(run.status == 0, "\(run.errors)")
    #expect(server.log().count { $0["what"].string == "token" } == 1)
  }

  /// A service that answers every request for bytes with a page: renewed once, refused, nothing published.
  @Test func alwaysAPage() async throws {
    let bench = try Bench()
    try bench.serve("a.bin", size: 3 * Self.chunk, seed: 7)
    let server = try await SalesforceServer(
      bench, [.init(Self.first, of: Self.document, file: "a.bin")], options: #""page": true"#)
    let run = try await bench.run(
      job(server, ["{ id: one, download: \"sf:\(Self.first)\", to: a.bin }"], via: "shepherd"),
      environment: Self.secrets)
    #expect(run.state("one") == "failed UNAUTHORIZED", "\(run.errors)")
    #expect(run["one"]["error"]["message"].string?.contains("login page") == true)
    #expect(!bench.exists("a.bin"))
    #expect(server.log().count { $0["what"].string == "token" } == 2)
  }

  /// The organisation's limit is spent: nobody goes on asking.
  @Test func limitPauses() async throws {
    let bench = try Bench()
    try bench.serve("a.bin", size: 1000, seed: 8)
    let server = try await SalesforceServer(
      bench, [.init(Self.first, of: Self.document, file: "a.bin")], options: #""limit": 5"#)
    let run = try await bench.run(
      job(
        server, (0..<20).map { "{ id: t\($0), download: \"sf:\(Self.first)\", to: \($0).bin }" },
        policy: ", transfers: 1"), environment: Self.secrets)
    #expect(run.status == 75, "\(run.errors)")
    #expect(run.faults == "")
    #expect(run.totals["completed"].int == 2)
    #expect(run.state("t19") == "paused retries RATE_LIMITED")
    #expect(run["t2"]["error"]["message"].string?.contains("REQUEST_LIMIT_EXCEEDED") == true)
    #expect(server.log().count { $0["what"].string == "limit" } == 1)
  }

  @Test func noChecksum() async throws {
    let bench = try Bench()
    try bench.serve("a.bin", size: 3 * Self.chunk, seed: 9)
    let server = try await SalesforceServer(
      bench, [.init(Self.first, of: Self.document, file: "a.bin", hasChecksum: false)])
    let run = try await bench.run(
      job(
        server,
        [
          "{ id: one, download: \"sf:\(Self.first)\", to: a.bin }",
          "{ id: two, download: \"sf:\(Self.first)\", to: b.bin, verify: required }",
        ]), environment: Self.secrets)
    #expect(run.state("one") == "completed", "\(run.errors)")
    #expect(run.state("two") == "failed DIGEST_UNAVAILABLE")
    #expect(try bench.isSame("a.bin", "a.bin"))
    #expect(run.remarks.contains("the server gives no digest of this file"), "\(run.remarks)")
  }

  @Test func errors() async throws {
    let bench = try Bench()
    try bench.serve("a.bin", size: 100, seed: 9)
    let server = try await SalesforceServer(bench, [.init(Self.first, of: Self.document, file: "a.bin")])
    let run = try await bench.run(
      job(server, ["{ id: none, download: \"sf:068Ab0000009999\", to: a.bin }"]), environment: Self.secrets)
    #expect(run.state("none") == "failed NOT_FOUND", "\(run.errors)")
    let wrong = try await bench.run(
      job(server, ["{ id: other, download: \"sf:\(Self.first)\", to: a.bin }"]),
      environment: ["CLIENT_SECRET": "wr0ng"])
    #expect(wrong.state("other") == "failed UNAUTHORIZED", "\(wrong.errors)")
    let message = wrong["other"]["error"]["message"].string ?? ""
    #expect(message.contains("invalid client credentials") && message.contains("client_secret"))
    for (transfer, words) in [
      ("download: \"sf:068short\", to: x", "15 or 18"),
      ("download: \"sf:001Ab0000004C92\", to: x", "not the id of a file"),
      ("download: \"sf:068Ab0000004C92AAA\", to: x", "is damaged"),
      ("upload: job.yaml, to: \"sf:x\"", "2 GB"),
    ] {
      try bench.writeJob(job(server, ["{ id: t, \(transfer) }"]))
      let end = try await bench.haul(["check", "job.yaml"])
      #expect(end.status == 65 && end.errors.contains(words), "\(transfer): \(end.errors)")
    }
    // Rows are read when the plan is made.
    _ = try bench.scratch.write("job/ids.csv", "id,path\n\(Self.first),good\n068short,bad\n")
    try bench.writeJob(
      job(
        server,
        [
          "{ id: t, for_each: { csv: ids.csv, key: \"${each.path}\" }, download: \"sf:${each.id}\", to: \"${each.path}\" }"
        ]))
    let rows = try await bench.haul(["check", "job.yaml"])
    #expect(
      rows.status == 65 && rows.errors.contains("ids.csv:3:1") && rows.errors.contains("15 or 18"),
      "\(rows.errors)")
    let plan = try await bench.haul(["plan", "job.yaml"])
    #expect(plan.status == 65, "\(plan.output) \(plan.errors)")
  }
}
