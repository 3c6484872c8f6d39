import Foundation
import TestSupport
import Testing

/// Kii Cloud's object bodies, against a strict fake: there is no server of it to be had.
@Suite(.turns)
struct KiiTests {
  private static let size = (4 << 20) + 7

  private func job(_ url: String, _ transfers: String, endpoint: String = "", policy: String = "") -> String {
    """
    version: 1
    job: kii
    endpoints:
      kii: { type: kii, url: "\(url)/api", app_id: app, app_key: { env: APP_KEY }, bucket: box\(endpoint) }
    policies: { p: { retry: { attempts: 4, initial: 20ms, max: 100ms }\(policy) } }
    defaults: { policy: p, chunk_size: 256KiB }
    transfers:
      - \(transfers)
    """
  }

  private static let up = #"{ id: one, upload: up.bin, to: "kii:one", content_type: image/x }"#
  private static let down = #"{ id: down, download: "kii:one", to: down.bin }"#
  private static let key = ["APP_KEY": "k3y-of-the-app"]

  private func run(
    _ options: [String] = [], transfers: String = up, policy: String = ""
  ) async throws -> (Bench, StrictFake, HaulRun) {
    let bench = try Bench()
    let fake = try await StrictFake(bench, .kii, options: options)
    try bench.source("up.bin", size: Self.size, seed: 51)
    try bench.serve("one", size: Self.size, seed: 52)
    let run = try await bench.run(job(fake.url, transfers, policy: policy), environment: Self.key)
    #expect(run.faults == "")
    return (bench, fake, run)
  }

  private func expectWhole(_ bench: Bench, _ run: HaulRun, _ location: SourceLocation = #_sourceLocation)
    throws
  {
    #expect(run.status == 0, "\(run.errors)", sourceLocation: location)
    #expect(run.state("one") == "completed", sourceLocation: location)
    #expect(
      try Sums.file(bench.served + "/one") == Sums.file(bench.job + "/up.bin"), sourceLocation: location)
  }

  @Test func sizes() async throws {
    let bench = try Bench()
    let names = RemoteKills.sizes.map(\.name)
    let fake = try await StrictFake(
      bench, .kii,
      options: [
        #""objects": ["none", \#(names.map(quoted).joined(separator: ", "))]"#, #""scope": "/users/me""#,
      ])
    try bench.source("none.bin", size: 0)
    var lines = [#"{ id: none, upload: none.bin, to: "kii:none" }"#]
    for (name, size) in RemoteKills.sizes {
      try bench.source(name + ".bin", size: size, seed: UInt64(size + 5))
      lines.append(
        "{ id: \(name), upload: \(name).bin, to: \"kii:\(name)\", chunk_size: 1MiB, content_type: a/b }")
      lines.append(
        "{ id: back-\(name), download: \"kii:\(name)\", to: back/\(name).bin, chunk_size: 1MiB, needs: [\(name)] }"
      )
    }
    let text = job(fake.url, lines.joined(separator: "\n  - "), endpoint: ", scope: \"user:me\"")
    let run = try await bench.run(text, environment: Self.key, limit: .seconds(240))
    #expect(run.state("none") == "failed PROTOCOL_VIOLATION")
    #expect(run["none"]["error"]["message"].string?.contains("0 bytes") == true)
    #expect(
      fake.log().allSatisfy { $0["path"].string?.contains("/none/") == false }, "nothing is asked for it")
    for name in names {
      #expect(run.state(name) == "completed", "\(run.errors)")
      #expect(try Sums.file(bench.served + "/\(name)") == Sums.file(bench.job + "/\(name).bin"), "\(name)")
      #expect(
        try Sums.file(bench.job + "/back/\(name).bin") == Sums.file(bench.job + "/\(name).bin"), "\(name)")
      #expect(run[name]["remote_id"].string == name && run[name]["protocol"].string == "kii")
      #expect(run["back-\(name)"]["content_type"].string == "a/b")
    }
    // A body of 0 bytes that somebody else has put there comes down all the same.
    try bench.serve("none", size: 0)
    let empty = try await bench.run(
      job(fake.url, #"{ id: empty, download: "kii:none", to: empty.bin }"#, endpoint: ", scope: \"user:me\"")
        .replacing("job: kii", with: "job: empty"), environment: Self.key)
    #expect(empty.state("empty") == "completed", "\(empty.errors)")
    #expect(try Data(contentsOf: URL(fileURLWithPath: bench.job + "/empty.bin")).isEmpty)
    try bench.writeJob(text)
    let total = Int64(RemoteKills.sizes.reduce(0) { $0 + $1.size })
    #expect(fake.taken("PUT") == total && fake.taken("GET") == total)
    let again = try await bench.run(nil, ["--new-run"], environment: Self.key)
    #expect(again.totals["up_to_date"].int == Int64(names.count * 2), "\(again.errors)")
    #expect(fake.taken("PUT") == total && fake.taken("GET") == total)
  }

  @Test(arguments: ["upload", "download"]) func kills(_ direction: String) async throws {
    let isUpload = direction == "upload"
    // Nobody can be asked for a chunk whose answer a kill took; of downloads, four in flight and one commit's.
    try await RemoteKills.torture("kii \(direction)", cost: (isUpload ? 1 : 8) * 256 << 10) { seed in
      let bench = try Bench()
      let size = isUpload ? 8 << 20 : 16 << 20
      let fake = try await StrictFake(bench, .kii, options: [#""rate": 2000000"#])
      try bench.source("up.bin", size: size, seed: seed)
      try bench.serve("one", size: size, seed: seed &+ 1)
      try bench.writeJob(
        job(fake.url, isUpload ? Self.up : Self.down.replacing("id: down", with: "id: one")))
      let method = isUpload ? "PUT" : "GET"
      return RemoteKills.Round(
        bench: bench, environment: Self.key,
        isBegun: { isUpload ? fake.taken("PUT") > 0 : !bench.parts().isEmpty },
        isOver: { fake.taken(method) >= size },
        settle: { _ throws -> Int64 in
          #expect(try bench.isSame(isUpload ? "up.bin" : "down.bin", "one"))
          let log = fake.log()
          if isUpload {
            // One upload took all the bytes; others are opened at most, a kill having come before that was recorded.
            #expect(Set(log.filter { $0["method"].string == "PUT" }.map { $0["path"].string }).count == 1)
          } else {
            #expect(log.filter { $0["status"].int == 206 }.allSatisfy { !$0["headers"]["if-match"].isNull })
          }
          return fake.taken(method) - Int64(size)
        })
    }
  }

  /// Faults that pass: the body stands in the end.
  @Test(arguments: [
    #""lose": {"data": [3, 7]}"#, #""lose": {"start": [1]}"#, #""fail": {"data": [2, 5], "commit": [1]}"#,
    #""end_at": [6]"#,
  ]) func passing(_ fault: String) async throws {
    let (bench, fake, run) = try await run([fault])
    try expectWhole(bench, run)
    #expect(fake.count("POST", "/committed", status: 204) == 1)
    let isLost = fault.contains("end_at")
    #expect(fake.count("POST", "/uploads", status: 200) == (isLost ? 2 : 1))
  }

  /// The commit was made and its answer lost: the body is read back, and not sent again.
  @Test(arguments: ["available", "size"]) func lostCommit(_ verify: String) async throws {
    let (bench, fake, run) = try await run(
      [#""lose": {"commit": [1]}"#],
      transfers: #"{ id: one, upload: up.bin, to: "kii:one", verify: \#(verify) }"#)
    try expectWhole(bench, run)
    #expect(fake.taken("PUT") == Int64(Self.size) && fake.taken("GET") == Int64(Self.size))
    #expect(run["one"]["remote_id"].string == "one")
  }

  /// The upload was lost before its commit: what stands there is not ours, and the file is sent again.
  @Test func refusedCommit() async throws {
    let (bench, fake, run) = try await run([#""refuse_commit": [1]"#])
    try expectWhole(bench, run)
    #expect(fake.taken("PUT") == Int64(2 * Self.size) && fake.count("POST", "/uploads") == 2)
  }

  /// Killed between the commit and its record.
  @Test func killedAtCommit() async throws {
    let bench = try Bench()
    let fake = try await StrictFake(bench, .kii, options: [#""hang": {"commit": [1]}"#])
    try bench.source("up.bin", size: Self.size, seed: 51)
    try bench.writeJob(job(fake.url, Self.up))
    let running = try bench.start(bench.runArguments(), environment: Self.key)
    // It stands there, and haul waits for the word of it.
    let (theirs, ours) = (bench.served + "/one", try Sums.file(bench.job + "/up.bin"))
    try await RemoteKills.wait(while: { (try? Sums.file(theirs)) != ours })
    running.signal(SIGKILL)
    _ = try await running.wait()
    let run = try await bench.run(nil, environment: Self.key)
    #expect(run.status == 0 && run.state("one") == "completed", "\(run.errors)")
    #expect(try Sums.file(bench.served + "/one") == Sums.file(bench.job + "/up.bin"))
    #expect(fake.taken("PUT") == Int64(Self.size))
  }

  @Test func missing() async throws {
    let (_, fake, run) = try await run(
      transfers: [
        #"{ id: two, upload: up.bin, to: "kii:two" }"#, #"{ id: no-body, download: "kii:none", to: a.bin }"#,
        #"{ id: keep, upload: up.bin, to: "kii:one", if_exists: keep }"#,
        #"{ id: required, upload: up.bin, to: "kii:one2" }"#,
      ].joined(separator: "\n  - "))
    #expect(run.state("two") == "failed NOT_FOUND")
    #expect(run["two"]["error"]["message"].string?.contains("create it first") == true)
    #expect(run.state("no-body") == "failed NOT_FOUND")
    #expect(run.state("keep") == "skipped exists")
    #expect(fake.count("PUT") == 0)
    let bench = try Bench()
    try bench.source("up.bin", size: 10)
    try bench.writeJob(
      job("http://127.0.0.1:1", #"{ id: one, upload: up.bin, to: "kii:one", verify: required }"#))
    let check = try await bench.haul(["check", "job.yaml"])
    #expect(check.status == 65 && check.errors.contains("verify: required"), "\(check.errors)")
  }

  /// The server goes away: suspended, and resumed by the next run with what was acknowledged.
  @Test func suspended() async throws {
    let bench = try Bench()
    let fake = try await StrictFake(bench, .kii, options: [#""rate": 500000"#])
    try bench.source("up.bin", size: Self.size, seed: 51)
    try bench.writeJob(job(fake.url, Self.up))
    let running = try bench.start(bench.runArguments(), environment: Self.key)
    try await RemoteKills.wait(while: { fake.count("PUT", status: 204) < 5 })
    fake.process.signal(SIGKILL)
    let first = try await HaulRun(try await running.wait(), reportPath: bench.reportPath)
    #expect(
      first.status == 75 && first.state("one") == "paused retries NETWORK_UNREACHABLE", "\(first.errors)")
    #expect(first["one"]["session"].string == "open")
    let again = try await StrictFake(bench, .kii, port: fake.port)
    let run = try await bench.run(nil, environment: Self.key)
    try expectWhole(bench, run)
    #expect(again.count("POST", "/uploads") == 0)
    #expect(again.taken("PUT") < Int64(Self.size - 4 * 256 << 10))
  }

  /// A local file that changed while suspended: the old upload is canceled, and the new file sent in a new one.
  @Test func changedWhileSuspended() async throws {
    let bench = try Bench()
    let fake = try await StrictFake(bench, .kii, options: [#""rate": 500000"#])
    try bench.source("up.bin", size: Self.size, seed: 51)
    try bench.writeJob(job(fake.url, Self.up))
    let running = try bench.start(bench.runArguments(), environment: Self.key)
    try await RemoteKills.wait(while: { fake.count("PUT", status: 204) < 5 })
    running.signal(SIGINT)
    _ = try await running.wait()
    // Same size and times, other bytes: only the recorded digests show it.
    _ = try Sums.shell(
      "touch -r up.bin stamp && printf x | dd of=up.bin bs=1 seek=200000 conv=notrunc 2>/dev/null && touch -r stamp up.bin",
      in: bench.job)
    let run = try await bench.run(nil, environment: Self.key)
    try expectWhole(bench, run)
    #expect(fake.count("POST", "/cancelled", status: 204) == 1 && fake.count("POST", "/uploads") == 2)
    #expect(run.remarks.contains("not what was sent"), "\(run.remarks)")
  }

  /// Another client's upload completes while the body is read: the download fails, starts over once, then gives up.
  @Test(arguments: [
    (#""replace_after": 1000000"#, "completed"),
    (#""break_get": [1], "replace_at": [2], "content_range": false"#, "completed"),
    (
      #""break_get": [1, 2, 3, 4, 5, 6, 7, 8, 9, 10], "replace_at": [2, 3, 4, 5, 6, 7, 8, 9, 10]"#,
      "failed REMOTE_CHANGED"
    ),
  ]) func replacedMeanwhile(_ fault: String, _ end: String) async throws {
    let (bench, fake, run) = try await run([fault], transfers: Self.down)
    #expect(run.state("down") == end, "\(run.errors)")
    #expect(fake.count("GET", status: 412) >= 1)
    if end == "completed" {
      #expect(try bench.isSame("down.bin", "one"))
    } else {
      #expect(!bench.exists("down.bin"))
    }
  }

  /// A server whose 206 has no Content-Range, and whose first answer breaks: resumed all the same.
  @Test(arguments: [true, false]) func brokenDownload(_ tellsRange: Bool) async throws {
    let (bench, fake, run) = try await run(
      [#""break_get": [1]"#, #""content_range": \#(tellsRange)"#], transfers: Self.down)
    #expect(run.status == 0, "\(run.errors)")
    #expect(try bench.isSame("down.bin", "one"))
    let ranged = fake.log().filter { $0["status"].int == 206 }
    #expect(!ranged.isEmpty && ranged.allSatisfy { !$0["headers"]["if-match"].isNull })
    #expect(fake.taken("GET") < Int64(Self.size + 600_000))
  }

  /// Token and application key end mid-transfer; both are had anew, and kept nowhere.
  @Test func credentials() async throws {
    let bench = try Bench()
    let secrets = ["t0ken-one-of-kii", "t0ken-two-of-kii", "k3y-one-of-kii", "k3y-two-of-kii"]
    let token = try bench.scratch.write("token", secrets[0], mode: 0o600)
    let key = try bench.scratch.write("key", secrets[2], mode: 0o600)
    let fake = try await StrictFake(
      bench, .kii,
      options: [
        #""token_file": \#(quoted(token))"#, #""app_key_file": \#(quoted(key))"#, #""rate": 500000"#,
      ])
    try bench.source("up.bin", size: Self.size, seed: 51)
    let events = bench.scratch.path + "/events.jsonl"
    try bench.writeJob(
      job(fake.url, Self.up, endpoint: ", auth: { bearer: { file: \(quoted(token)) } }")
        .replacing("{ env: APP_KEY }", with: "{ command: [cat, \(quoted(key))] }"))
    let running = try bench.start(bench.runArguments(["--events", events, "--log-level", "debug"]))
    try await RemoteKills.wait(while: { fake.count("PUT", status: 204) < 3 })
    try bench.scratch.write("token", secrets[1], mode: 0o600)
    try await RemoteKills.wait(while: { fake.count("PUT", status: 401) < 1 })
    // The one renewal has to have done its work before the next is needed.
    let sent = fake.count("PUT", status: 204)
    try await RemoteKills.wait(while: { fake.count("PUT", status: 204) <= sent })
    try bench.scratch.write("key", secrets[3], mode: 0o600)
    let run = try await HaulRun(try await running.wait(), reportPath: bench.reportPath)
    try expectWhole(bench, run)
    #expect(fake.count("PUT", status: 401) >= 2)
    #expect(fake.taken("PUT") == Int64(Self.size))
    let found = try Sums.shell(
      "grep -rlE '\(secrets.joined(separator: "|"))' state report.json events.jsonl || true",
      in: bench.scratch.path)
    #expect(found == "")
    #expect(secrets.allSatisfy { !(run.end.errors + run.end.output).contains($0) })
  }
}
