import Foundation
import TestSupport
import Testing

/// `then`: each finished file is tied to its record, once by its key, whatever its receiver does.
@Suite(.turns)
struct AttachTests {
  private func job(
    _ server: ReceivingServer, _ transfers: [String], defaults: String = "", policy: String = "",
    name: String = "tied"
  ) -> String {
    """
    version: 1
    job: \(name)
    endpoints:
      files: { type: http, url: "\(server.url)/files" }
      api: { type: http, url: "\(server.url)", auth: { bearer: { env: API_TOKEN } } }
    policies: { quick: { retry: { attempts: 6, initial: 10ms, max: 20ms }, timeouts: { request: 500ms }\(policy) } }
    defaults: { policy: quick\(defaults) }
    transfers:
    \(transfers.map { "  - " + $0 }.joined(separator: "\n"))
    """
  }

  private let environment = ["API_TOKEN": "tokensecret", "RECORD_KEY": "keysecret"]

  @Test func aRecordIsTold() async throws {
    let bench = try Bench()
    let server = try await ReceivingServer.ofRecords(bench)
    try bench.serve("a.mp4", size: 70_000)
    try bench.source("b.txt", size: 9_000)
    let json = """
      { id: "${id}", sha256: "${file.sha256}", md5: "${file.md5}", size: "${file.size}", type: "${file.content_type}",
        path: "${file.path}", etag: "${file.etag}", version: "${file.version}", uuid: "${uuid}", run: "${run.id}",
        n: 7, on: true, no: null, list: [1, "x"] }
      """
    let run = try await bench.run(
      job(
        server,
        [
          "{ id: down, download: files:a.mp4, to: in/a.mp4, then: { post: \"api:ok/records/${id}?x\", json: \(json), headers: { X-Key: { env: RECORD_KEY } } } }",
          "{ id: up, upload: b.txt, to: \"files:b.txt\", then: { put: \"\(server.url)/ok/${file.sha256}?token=querysecret\", json: [ \"${file.path}\" ] } }",
          "{ id: bare, download: files:a.mp4, to: in/c.mp4, then: { patch: api:ok/bare, expect_status: 200 } }",
        ]), environment: environment)
    #expect(run.status == 0 && run.faults == "", "\(run.faults)\(run.errors)")
    let sent = try server.attaches()
    let down = try #require(sent.first { $0.method == "POST" })
    let up = try #require(sent.first { $0.method == "PUT" })
    let bare = try #require(sent.first { $0.method == "PATCH" })
    #expect(sent.count == 3 && Set(sent.map(\.key)).count == 3)
    let body = try JSON.parse(down.body)
    let sums = (try Sums.file(bench.served + "/a.mp4") ?? "-", try Sums.file(bench.job + "/b.txt") ?? "-")
    #expect(body["id"].string == "down" && body["sha256"].string == sums.0)
    #expect(body["size"].string == "70000" && body["md5"].string?.count == 32)
    #expect(body["type"].string == "video/mp4" && body["path"].string == "in/a.mp4")
    #expect(body["version"].string == "" && body["etag"].string?.isEmpty == false)
    #expect(body["uuid"].string?.count == 36 && body["run"].string == run.report["run"]["id"].string)
    #expect(body["n"].int == 7 && body["on"].bool == true && body["list"].array.count == 2)
    #expect(
      down.path == "/ok/records/down%3Fx" && down.headers["authorization"].string == "Bearer tokensecret")
    #expect(
      down.headers["x-key"].string == "keysecret" && down.headers["content-type"].string == "application/json"
    )
    #expect(up.path == "/ok/\(sums.1)?token=querysecret")
    #expect(up.body == #"["b.txt"]"# && up.headers["authorization"].string == nil)
    #expect(bare.body.isEmpty && bare.headers["content-type"].string == nil)
    for id in ["down", "up", "bare"] {
      let attached = run[id]["attached"]
      #expect(run.state(id) == "completed" && attached["state"].string == "attached")
      #expect(attached["status"].int == 200 && attached["tries"].int == 1 && attached["at"].string != nil)
      #expect(
        sent.map(\.key).contains(attached["key"].string ?? "-") && run[id]["session"].string != "attaching")
    }
    // It is tied: nothing is sent again.
    let again = try await bench.run(environment: environment)
    #expect(again.status == 0 && again.totals["up_to_date"].int == 3 && again.faults == "")
    #expect(try server.attaches().count == 3)
    let texts = try [run.errors, String(contentsOfFile: bench.reportPath, encoding: .utf8)].joined()
    #expect(!texts.contains("secret"))
  }

  /// Late, 500, nothing, an answer that is lost: each record is tied once by its key.
  @Test(arguments: ["late", "hang", "close", "moody"])
  func badReceivers(_ mood: String) async throws {
    let bench = try Bench()
    let server = try await ReceivingServer.ofRecords(bench)
    var transfers: [String] = []
    for number in 0..<8 {
      try bench.serve("\(number).bin", size: 3_000, seed: UInt64(number))
      transfers.append(
        "{ id: t\(number), download: files:\(number).bin, to: \(number).bin, then: { post: \"api:\(mood)/${id}\", json: { f: \"${file.sha256}\" } } }"
      )
    }
    let text = job(server, transfers, defaults: ", refresh: never")
    let first = try await bench.run(text, environment: environment)
    #expect(first.faults == "", "\(first.faults)")
    if mood == "hang" {
      #expect(first.status == 75 && first.state("t0") == "paused retries TIMEOUT", "\(first.errors)")
      #expect(
        first["t0"]["session"].string == "attaching" && first["t0"]["attached"]["state"].string == "owed")
      #expect(try bench.isSame("0.bin", "0.bin"))
      try bench.writeJob(text.replacing("api:hang", with: "api:ok"))
    }
    // What is still owed goes with the next runs.
    var last = first
    for _ in 0..<10 where last.status != 0 { last = try await bench.run(environment: environment) }
    #expect(last.status == 0, "\(last.errors)")
    let sent = try server.attaches()
    for number in 0..<8 {
      let own = sent.filter { $0.path == "/\(mood)/t\(number)" || $0.path == "/ok/t\(number)" }
      #expect(own.count { $0.isTaken } == 1 && own.contains { $0.status == 200 }, "t\(number): \(own)")
      // Another address is another request.
      #expect(Set(own.map(\.key)).count <= (mood == "hang" ? 2 : 1), "t\(number)")
      let gets = try server.requests().filter { $0.path == "/files/\(number).bin" }
      #expect(gets.count == 1, "no byte moves twice")
    }
  }

  /// Refused for good: the file stays, and the next run makes this request alone.
  @Test func refusedForGood() async throws {
    let bench = try Bench()
    let server = try await ReceivingServer.ofRecords(bench)
    try bench.serve("a.bin", size: 5_000)
    try bench.source("b.bin", size: 6_000)
    let text = job(
      server,
      [
        "{ id: down, download: files:a.bin, to: a.bin }", "{ id: up, upload: b.bin, to: \"files:b.bin\" }",
        "{ id: after, download: files:a.bin, to: c.bin, needs: [down], then: { put: api:other } }",
      ],
      defaults:
        ", then: { post: \"api:ok/${id}\", json: { f: \"${file.sha256}\" }, headers: { X-Key: { env: RECORD_KEY } }, expect_status: [200, 201] }"
    )
    try server.answers(422)
    let first = try await bench.run(text, environment: environment)
    #expect(first.status == 1 && first.faults == "", "\(first.faults)\(first.errors)")
    for id in ["down", "up"] {
      #expect(first.state(id) == "failed ATTACH_FAILED" && first[id]["error"]["http_status"].int == 422)
      #expect(
        first[id]["session"].string == "attaching" && first[id]["attached"]["state"].string == "refused")
      #expect(first[id]["attached"]["tries"].int == 1 && first[id]["attached"]["status"].int == 422)
    }
    #expect(first.state("after").hasPrefix("skipped needs:down"))
    #expect(try bench.isSame("a.bin", "a.bin") && bench.isSame("b.bin", "b.bin"))
    let before = try server.requests()
    let plan = try await bench.haul(["plan", "job.yaml", "--json"], environment: environment)
    let line = try JSON.parse(plan.output)["transfers"].array.first { $0["id"].string == "down" } ?? .null
    #expect(line["action"].string == "attach" && line["then"].string == "POST api:ok/${id}", "\(line)")
    let words = try await bench.haul(["plan", "job.yaml"], environment: environment)
    #expect(words.output.contains("then POST api:ok/${id}") && words.output.contains("to attach"))
    // Still refused, by a 202 that was not asked for.
    try server.answers(202)
    let second = try await bench.run(environment: environment)
    #expect(second.state("down") == "failed ATTACH_FAILED" && second.status == 1, "\(second.errors)")
    #expect(second["down"]["error"]["message"].string?.contains("202") == true)
    try server.answers(nil)
    let third = try await bench.run(environment: environment)
    #expect(third.status == 0 && third.faults == "", "\(third.faults)\(third.errors)")
    #expect(third.state("down") == "completed" && third.state("up") == "completed")
    let later = try server.requests().dropFirst(before.count)
    // What needed it came behind it.
    let own = later.filter { !$0.path.hasSuffix("/a.bin") && $0.path != "/other" }
    #expect(own.count == 4 && own.allSatisfy { !$0.isOfFile }, "\(own.map(\.path))")
    for id in ["down", "up"] {
      let keys = Set(try server.attaches().filter { $0.path == "/ok/\(id)" }.map(\.key))
      #expect(keys.count == 1 && third[id]["bytes"]["transferred"].int == 0)
    }
    let texts = first.errors + second.errors + plan.output + words.output
    #expect(!texts.contains("secret"), "a server that repeats a secret is masked")
  }

  /// A user's cancel while it is owed: the file stays, and nothing is sent.
  @Test func canceled() async throws {
    let bench = try Bench()
    let server = try await ReceivingServer.ofRecords(bench)
    try bench.serve("a.bin", size: 5_000)
    let text = job(server, ["{ id: a, download: files:a.bin, to: a.bin, then: { post: api:ok } }"])
    try server.answers(500)
    let first = try await bench.run(text, environment: environment)
    #expect(first.state("a") == "paused retries SERVER_ERROR" && first.status == 75, "\(first.errors)")
    let sent = try server.requests().count
    let cancel = try await bench.haul(["cancel", "tied", "a"], environment: environment)
    #expect(cancel.status == 0, "\(cancel.errors)")
    let status = try JSON.parse(try await bench.haul(["status", "tied", "--json"]).output)
    #expect(status["transfers"][0]["state"].string == "canceled")
    #expect(try bench.isSame("a.bin", "a.bin") && server.requests().count == sent)
    // The file stays whole, and what was sent has its key.
    try server.answers(nil)
    let next = try await bench.run(nil, ["--new-run"], environment: environment)
    #expect(next.state("a") == "completed" && next.transferred == 0, "\(next.errors)")
    #expect(try Set(server.attaches().map(\.key)).count == 1)
    #expect(try server.requests().filter(\.isOfFile).count == 1)
  }

  /// Rows say what belongs to them; where they say nothing, at their place.
  @Test func rows() async throws {
    let bench = try Bench()
    let server = try await ReceivingServer.ofRecords(bench)
    for name in ["x", "y"] { try bench.serve(name, size: 2_000, seed: name == "x" ? 1 : 2) }
    try Data("file,record\nx,7\ny,8\n".utf8).write(to: URL(fileURLWithPath: bench.job + "/rows.csv"))
    let row =
      "{ id: r, for_each: { csv: rows.csv, key: \"${each.file}\" }, download: \"files:${each.file}\", to: \"in/${each.file}\", then: { patch: \"api:ok/${each.record}\", json: { f: \"${file.remote_id|default(none)}\", p: \"${file.path}\" } } }"
    let run = try await bench.run(job(server, [row]), environment: environment)
    #expect(run.status == 0 && run.faults == "", "\(run.faults)\(run.errors)")
    let sent = try server.attaches().sorted { $0.path < $1.path }
    #expect(sent.map(\.path) == ["/ok/7", "/ok/8"])
    #expect(sent.map(\.body) == [#"{"f":"none","p":"in/x"}"#, #"{"f":"none","p":"in/y"}"#])
    try Data("file,record\nx,\n".utf8).write(to: URL(fileURLWithPath: bench.job + "/rows.csv"))
    let check = try await bench.haul(["check", "job.yaml"], environment: environment)
    #expect(check.status == 65 && check.errors.contains("rows.csv:2:3"), "\(check.errors)")
  }

  private static let kills =
    ProcessInfo.processInfo.environment["HAUL_ATTACH_KILLS"].flatMap { Int($0) } ?? 10
  private static let seed =
    ProcessInfo.processInfo.environment["HAUL_TORTURE_SEED"].flatMap { UInt64($0) } ?? 7

  /// Whenever haul is killed, and whatever the receiver does: each record is tied under one key, and from its first request on
  /// no byte of its file moves. `HAUL_ATTACH_KILLS`: SIGKILLs (10). `HAUL_TORTURE_SEED`: what their instants follow from.
  @Test func killedAtAnyInstant() async throws {
    let bench = try Bench()
    let server = try await ReceivingServer.ofRecords(bench)
    var transfers: [String] = []
    for number in 0..<24 {
      try bench.serve("\(number).bin", size: 20_000 + number, seed: UInt64(number))
      try bench.source("\(number).up", size: 10_000 + number, seed: UInt64(100 + number))
      transfers.append("{ id: d\(number), download: files:\(number).bin, to: ROUND/\(number).bin }")
      transfers.append("{ id: u\(number), upload: \(number).up, to: \"files:ROUND/\(number).up\" }")
    }
    var random = SeededRandom(Self.seed)
    var (killed, round, met) = (0, 0, 0)
    while killed < Self.kills {
      round += 1
      let text = job(
        server, transfers,
        defaults: ", refresh: never, then: { post: \"api:moody/ROUND/${id}\", json: \"${file.sha256}\" }",
        policy: ", transfers: 4", name: "tied\(round)")
      try bench.writeJob(text.replacing("ROUND", with: "r\(round)"))
      let before = try server.requests().count
      // A busy machine may need longer than any of them lives: a round ends with a run that is let be.
      let most = min(Self.kills, killed + 20)
      var ended: Finished?
      for _ in 0..<100 where ended?.status != 0 {
        let run = try bench.start(["run", "job.yaml", "--no-progress"], environment: environment)
        if killed < most {
          try await Task.sleep(for: .milliseconds(Int.random(in: 30..<900, using: &random)))
          run.signal(SIGKILL)
        }
        ended = try? await run.wait()
        if ended?.status ?? 1 != 0, killed < most { killed += 1 }
      }
      #expect(ended?.status == 0, "\(ended?.errors ?? "-")")
      let sent = Array(try server.requests().dropFirst(before))
      for number in 0..<24 {
        for (id, file) in [("d\(number)", "\(number).bin"), ("u\(number)", "r\(round)/\(number).up")] {
          let own = sent.filter { $0.path == "/moody/r\(round)/\(id)" }
          #expect(Set(own.map(\.key)).count == 1, "\(id): one key")
          #expect(own.count { $0.isTaken } == 1 && own.contains { $0.status == 200 }, "\(id): taken once")
          if own.count > 1 { met += 1 }
          let first = sent.firstIndex { $0.path == "/moody/r\(round)/\(id)" } ?? sent.endIndex
          let moved = sent[first...].filter { $0.path == "/files/" + file }
          #expect(moved.isEmpty, "\(id): \(moved.map(\.method)) after its file was proved")
        }
        #expect(try bench.isSame("r\(round)/\(number).bin", "\(number).bin"))
      }
    }
    print("attach: \(killed) kills, \(round) rounds, \(met) requests were made again")
  }
}
