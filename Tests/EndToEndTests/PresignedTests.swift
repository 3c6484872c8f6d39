import Foundation
import TestSupport
import Testing

/// Uploads and downloads through a back end that hands out signed URLs.
@Suite(.turns)
struct PresignedTests {
  static let token = "b4ckend-of-zinc"
  static let part = 65536

  static func endpoint(_ server: PresignedServer, _ more: String = "") -> String {
    "{ type: presigned, url: \"\(server.url)/api\", auth: { bearer: { env: TOKEN } }\(more) }"
  }

  private func bench(_ options: String = "", part: Int = Self.part) async throws -> (Bench, PresignedServer) {
    let bench = try Bench()
    let more = options.isEmpty ? "" : ", " + options
    return (
      bench, try await PresignedServer(bench, token: Self.token, options: "\"partSize\": \(part)\(more)")
    )
  }

  private func job(
    _ server: PresignedServer, _ transfers: [String], endpoint: String = "", flight: Int = 4,
    attempts: Int = 4
  ) -> String {
    """
    version: 1
    job: signed
    endpoints: { api: \(Self.endpoint(server, endpoint)) }
    policies: { p: { chunks_in_flight: \(flight), retry: { attempts: \(attempts), initial: 20ms, max: 100ms } } }
    defaults: { policy: p, chunk_size: 64KiB }
    transfers:
    \(transfers.map { "  - " + $0 }.joined(separator: "\n"))
    """
  }

  /// SHA-256 of what the store has under the key that the report names.
  private func stored(_ server: PresignedServer, _ run: HaulRun, _ id: String) throws -> String? {
    try run[id]["remote_id"].string.flatMap { try Sums.file(server.objects + "/" + $0) }
  }

  @Test func sizes() async throws {
    let (bench, server) = try await bench()
    let sizes = [0, 1, Self.part - 1, Self.part, Self.part + 1, 9 * Self.part + 5]
    for size in sizes { try bench.source("f\(size) ü.bin", size: size, seed: UInt64(size + 1)) }
    let run = try await bench.run(
      job(
        server, sizes.map { "{ id: f\($0), upload: \"f\($0) ü.bin\", to: \"api:in/f\($0) ü.bin\" }" },
        endpoint: ", params: { album: summer }"),
      environment: ["TOKEN": Self.token])
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.faults == "")
    for size in sizes {
      let id = "f\(size)"
      #expect(run.state(id) == "completed")
      #expect(try stored(server, run, id) == Sums.file(bench.job + "/f\(size) ü.bin"), "\(size)")
      #expect(
        run[id]["verification"].array.contains {
          $0["check"].string == "etag" && $0["against"].string == "server" && $0["result"].string == "match"
        })
      #expect((run[id]["chunks"]["total"].int ?? 1) == Int64(max(1, (size + Self.part - 1) / Self.part)))
    }
    let log = server.log()
    let starts = log.filter { $0["what"].string == "start" }
    #expect(starts.count == sizes.count && starts.allSatisfy { $0["message"]["album"].string == "summer" })
    #expect(starts.allSatisfy { $0["message"]["fileSize"].string != nil })
    #expect(Set(starts.compactMap { $0["message"]["fileHash"].string }).count == sizes.count)
    let parts = log.filter { $0["what"].string == "part" }
    #expect(parts.count == 4 + 2 + 10)
    #expect(
      parts.allSatisfy {
        $0["status"].int == 200 && $0["headers"]["authorization"].isNull
          && $0["headers"]["content-type"].isNull
      })
    // Four at a time, and never one twice.
    let asked = log.filter { $0["what"].string == "urls" }.map(\.["parts"].array.count)
    #expect(asked.reduce(0, +) == parts.count && asked.allSatisfy { $0 <= 4 }, "\(asked)")
    #expect(asked.count <= 5 + 1 + 5, "\(asked)")
  }

  @Test func big() async throws {
    let (bench, server) = try await bench(part: 8 << 20)
    let size = 200 << 20
    try bench.source("big.bin", size: size, seed: 3)
    try bench.serve("down.bin", size: size, seed: 4)
    let run = try await bench.run(
      job(
        server,
        [
          "{ id: up, upload: big.bin, to: \"api:big.bin\" }",
          "{ id: down, download: \"api:files/down.bin\", to: d.bin }",
        ]),
      environment: ["TOKEN": Self.token], limit: .seconds(240))
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.faults == "")
    #expect(try stored(server, run, "up") == Sums.file(bench.job + "/big.bin"))
    #expect(try bench.isSame("d.bin", "down.bin"))
    #expect(run.transferred == Int64(2 * size))
  }

  /// What was acknowledged and recorded is not sent again.
  @Test(arguments: ["upload", "download"]) func kills(_ direction: String) async throws {
    // Four in flight, and what one commit had not yet recorded.
    try await RemoteKills.torture("presigned \(direction)", cost: 10 * Self.part) { seed in
      let isUpload = direction == "upload"
      let (bench, server) = try await bench(#""rate": 600000"#)
      let size = 6 << 20
      try bench.source("up.bin", size: size, seed: seed)
      try bench.serve("down.bin", size: size, seed: seed &+ 1)
      try bench.writeJob(
        job(
          server,
          [
            isUpload
              ? "{ id: one, upload: up.bin, to: \"api:up.bin\" }"
              : "{ id: one, download: \"api:files/down.bin\", to: d.bin }"
          ]))
      let moved = {
        server.log().filter { $0["what"].string == (isUpload ? "part" : "get") }
          .reduce(0) { $0 + ($1["bytes"].int ?? 0) }
      }
      return RemoteKills.Round(
        bench: bench, environment: ["TOKEN": Self.token],
        isBegun: { moved() > 0 }, isOver: { moved() >= size },
        settle: { run throws -> Int64 in
          if isUpload {
            #expect(try stored(server, run, "one") == Sums.file(bench.job + "/up.bin"))
            #expect(
              server.log().count { $0["what"].string == "complete" && $0["status"].int == 200 } == 1)
          } else {
            #expect(try bench.isSame("d.bin", "down.bin"))
          }
          return moved() - Int64(size)
        })
    }
  }

  /// URLs that expire before their turn are asked for again; no signature is kept anywhere.
  @Test func expiredURLs() async throws {
    let (bench, server) = try await bench(#""ttl": 2, "rate": 90000"#)
    try bench.source("up.bin", size: 8 * Self.part, seed: 7)
    try bench.serve("down.bin", size: 1000, seed: 8)
    let events = bench.scratch.path + "/events.jsonl"
    let run = try await bench.run(
      job(
        server,
        [
          "{ id: one, upload: up.bin, to: \"api:up.bin\" }",
          "{ id: two, download: \"api:files/down.bin\", to: d.bin }",
          "{ id: none, download: \"api:files/none.bin\", to: n.bin }",
        ], endpoint: ", url_batch: 8", flight: 1),
      ["--events", events, "--log-level", "debug"], environment: ["TOKEN": Self.token])
    #expect(run.status == 1, "\(run.errors)")
    #expect(run.state("one") == "completed" && run.state("two") == "completed")
    #expect(run.state("none") == "failed NOT_FOUND")
    #expect(run.faults == "")
    #expect(try stored(server, run, "one") == Sums.file(bench.job + "/up.bin"))
    let parts = server.log().filter { $0["what"].string == "part" }
    #expect(parts.contains { $0["status"].int == 403 })
    #expect(parts.count { $0["status"].int == 200 } == 8)
    #expect(server.log().count { $0["what"].string == "urls" } >= 2)
    let found = try Sums.shell(
      "grep -rlE 'X-Amz-Signature|X-Expires|\(Self.token)' state report.json events.jsonl || true",
      in: bench.scratch.path)
    #expect(found == "")
    #expect(!run.errors.contains("Signature") && !run.errors.contains(Self.token))
  }

  /// The back end's own token ends mid-transfer, up and down; it is had anew, and kept nowhere.
  @Test(arguments: ["upload", "download"]) func expiredToken(_ direction: String) async throws {
    let bench = try Bench()
    let tokens = ["first-t0ken-of-zinc", "second-t0ken-of-zinc"]
    let server = try await PresignedServer(
      bench, token: tokens.joined(separator: " "), options: "\"partSize\": \(Self.part), \"tokenEnds\": 3")
    try bench.source("up.bin", size: 16 * Self.part, seed: 7)
    try bench.serve("down.bin", size: 40 * Self.part, seed: 8)
    let script = try bench.scratch.write(
      "give.sh", "if [ -e used ]; then echo \(tokens[1]); else touch used; echo \(tokens[0]); fi")
    let events = bench.scratch.path + "/events.jsonl"
    let run = try await bench.run(
      job(
        server,
        [
          direction == "upload"
            ? "{ id: one, upload: up.bin, to: \"api:up.bin\" }"
            : "{ id: one, download: \"api:files/down.bin\", to: d.bin }"
        ], flight: 1
      ).replacing("{ env: TOKEN }", with: "{ command: [sh, \(quoted(script))] }"),
      ["--events", events, "--log-level", "debug"])
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.faults == "")
    #expect(server.log().contains { $0["status"].int == 401 })
    if direction == "upload" {
      #expect(try stored(server, run, "one") == Sums.file(bench.job + "/up.bin"))
    } else {
      #expect(try bench.isSame("d.bin", "down.bin"))
    }
    let found = try Sums.shell(
      "grep -rlaE 'X-Amz-Signature|X-Expires|\(tokens.joined(separator: "|"))' state report.json events.jsonl || true",
      in: bench.scratch.path)
    #expect(found == "")
    #expect(tokens.allSatisfy { !(run.end.errors + run.end.output).contains($0) })
  }

  /// A part that arrived with other bytes is known by its ETag where the others' are their MD5, and sent again.
  @Test func damagedPart() async throws {
    let (bench, server) = try await bench(#""damage": [3]"#)
    try bench.source("up.bin", size: 6 * Self.part, seed: 9)
    let run = try await bench.run(
      job(server, ["{ id: one, upload: up.bin, to: \"api:up.bin\", verify: required }"]),
      environment: ["TOKEN": Self.token])
    #expect(run.status == 0, "\(run.errors)")
    #expect(try stored(server, run, "one") == Sums.file(bench.job + "/up.bin"))
    let parts = server.log().filter { $0["what"].string == "part" }
    #expect(parts.count == 7 && parts.count { $0["part"].int == 3 } == 2)
    #expect(run.remarks.contains("sent again"), "\(run.remarks)")
  }

  /// ETags that are no MD5 prove nothing, and are not taken for a mismatch.
  @Test(arguments: [("available", "completed"), ("required", "failed DIGEST_UNAVAILABLE")])
  func opaqueTags(_ verify: String, _ state: String) async throws {
    let (bench, server) = try await bench(#""etag": "opaque""#)
    try bench.source("up.bin", size: 3 * Self.part, seed: 9)
    let run = try await bench.run(
      job(server, ["{ id: one, upload: up.bin, to: \"api:up.bin\", verify: \(verify) }"]),
      environment: ["TOKEN": Self.token])
    #expect(run.state("one") == state, "\(run.errors)")
    #expect(server.log().count { $0["what"].string == "part" } == 3)
    #expect(!run["one"]["verification"].array.contains { $0["check"].string == "etag" })
  }

  /// The store or the back end has lost the upload or a part of it, or the answer to complete is lost: it is sent once more.
  @Test(arguments: [#""forget": 3"#, #""lose": 1"#, #""losePart": 1"#]) func lostUpload(_ option: String)
    async throws
  {
    let (bench, server) = try await bench(option)
    try bench.source("up.bin", size: 8 * Self.part, seed: 10)
    let run = try await bench.run(
      job(server, ["{ id: one, upload: up.bin, to: \"api:up.bin\" }"]), environment: ["TOKEN": Self.token])
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.faults == "")
    #expect(try stored(server, run, "one") == Sums.file(bench.job + "/up.bin"))
    #expect(server.log().count { $0["what"].string == "start" } == 2)
  }

  /// Any answer to complete but a 2xx is a failure, and says so.
  @Test func refusedComplete() async throws {
    let (bench, server) = try await bench(#""completeStatus": 400"#)
    try bench.source("up.bin", size: Self.part, seed: 10)
    let run = try await bench.run(
      job(server, ["{ id: one, upload: up.bin, to: \"api:up.bin\" }"]), environment: ["TOKEN": Self.token])
    #expect(run.state("one") == "failed PROTOCOL_VIOLATION")
    #expect(run["one"]["error"]["message"].string?.contains("complete the upload: HTTP 400") == true)
  }

  /// Sources have to be there again after a stop: those that are not are counted and named, and lose nothing.
  @Test func missingSources() async throws {
    let (bench, server) = try await bench(#""rate": 200000"#)
    for name in ["a", "b"] { try bench.source(name + ".bin", size: 8 * Self.part, seed: 11) }
    try bench.writeJob(
      job(server, ["a", "b"].map { "{ id: \($0), upload: \($0).bin, to: \"api:\($0).bin\" }" }, flight: 1))
    let events = bench.scratch.path + "/events.jsonl"
    let running = try bench.start(
      bench.runArguments(["--events", events]), environment: ["TOKEN": Self.token])
    for _ in 0..<1000 {
      let done = JSON.lines(events).filter { $0["event"].string == "chunk_completed" }
      if ["a", "b"].allSatisfy({ id in done.contains { $0["id"].string == id } }) { break }
      try await Task.sleep(for: .milliseconds(20))
    }
    running.signal(SIGTERM)
    #expect(try await running.wait().status == 75)
    _ = try Sums.shell("mv a.bin away.bin", in: bench.job)
    let plan = try await bench.haul(["plan", "job.yaml"], environment: ["TOKEN": Self.token])
    #expect(plan.output.contains("the source is missing"), "\(plan.output)")
    let second = try await bench.run(environment: ["TOKEN": Self.token])
    #expect(second.state("a") == "failed SOURCE_MISSING" && second.state("b") == "completed")
    #expect(second.remarks.contains("1 local source is missing: a"), "\(second.remarks)")
    _ = try Sums.shell("mv away.bin a.bin", in: bench.job)
    let third = try await bench.run(environment: ["TOKEN": Self.token])
    #expect(third.status == 0, "\(third.errors)")
    #expect((third["a"]["bytes"]["reused"].int ?? 0) > 0)
    #expect(try stored(server, third, "a") == Sums.file(bench.job + "/a.bin"))
    let log = server.log()
    #expect(log.count { $0["what"].string == "start" } == 2)
    #expect(log.count { $0["what"].string == "complete" && $0["status"].int == 200 } == 2)
  }

  /// The same content is not sent twice, whatever its times say; another content of the same size is.
  @Test func duplicates() async throws {
    let (bench, server) = try await bench()
    try bench.source("up.bin", size: 5 * Self.part, seed: 12)
    let yaml = job(server, ["{ id: one, upload: up.bin, to: \"api:up.bin\" }"])
    #expect(try await bench.run(yaml, environment: ["TOKEN": Self.token]).status == 0)
    let before = server.log().count
    _ = try Sums.shell("touch -d '2031-01-01' up.bin", in: bench.job)
    let again = try await bench.run(environment: ["TOKEN": Self.token])
    #expect(again.state("one") == "up_to_date duplicate", "\(again.errors)")
    #expect(server.log().count == before)
    // One byte where no sample looks.
    _ = try Sums.shell("printf x | dd of=up.bin bs=1 seek=100000 conv=notrunc 2>/dev/null", in: bench.job)
    let changed = try await bench.run(environment: ["TOKEN": Self.token])
    #expect(changed.state("one") == "completed")
    #expect(try stored(server, changed, "one") == Sums.file(bench.job + "/up.bin"))
  }

  @Test func downloads() async throws {
    let (bench, server) = try await bench()
    let sizes = [0, 1, Self.part - 1, Self.part, Self.part + 1, 9 * Self.part]
    for size in sizes { try bench.serve("f \(size).bin", size: size, seed: UInt64(size + 20)) }
    let yaml = job(server, sizes.map { "{ id: f\($0), download: \"api:files/f \($0).bin\", to: in/ }" })
    try bench.writeJob(yaml)
    let plan = try await bench.haul(
      ["plan", "job.yaml", "--probe", "--json"], environment: ["TOKEN": Self.token])
    #expect(plan.status == 0 && plan.output.contains("589824"), "\(plan.errors)")
    #expect(server.log().allSatisfy { $0["method"].string == "GET" })
    let run = try await bench.run(yaml, environment: ["TOKEN": Self.token])
    #expect(run.status == 0, "\(run.errors)")
    #expect(run.faults == "")
    for size in sizes { #expect(try bench.isSame("in/f \(size).bin", "f \(size).bin"), "\(size)") }
    #expect(
      run["f0"]["verification"].array.contains {
        $0["check"].string == "size" && $0["result"].string == "match"
      })
    let before = server.log().count { $0["what"].string == "get" && ($0["bytes"].int ?? 0) > 1 }
    let again = try await bench.run(environment: ["TOKEN": Self.token])
    #expect(again.totals["up_to_date"].int == Int64(sizes.count), "\(again.errors)")
    #expect(server.log().count { $0["what"].string == "get" && ($0["bytes"].int ?? 0) > 1 } == before)
    #expect(
      server.log().filter { $0["what"].string == "get" }.allSatisfy { $0["headers"]["authorization"].isNull })
  }

  @Test(arguments: [
    ("verify: readback", "can't be read back"), ("if_exists: keep", "can't be asked"),
  ]) func refusedAtCheck(_ key: String, _ words: String) async throws {
    let (bench, server) = try await bench()
    try bench.source("up.bin", size: 10)
    try bench.writeJob(job(server, ["{ id: one, upload: up.bin, to: \"api:up.bin\", \(key) }"]))
    let end = try await bench.haul(["check", "job.yaml"])
    #expect(end.status == 65 && end.errors.contains(words), "\(end.errors)")
    try bench.writeJob(
      job(server, ["{ id: one, upload: up.bin, to: \"api:up.bin\" }"], endpoint: ", params: { fileHash: x }"))
    let clash = try await bench.haul(["check", "job.yaml"])
    #expect(clash.status == 65 && clash.errors.contains("`fileHash` is haul's to send"), "\(clash.errors)")
  }
}
