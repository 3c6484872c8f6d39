import Testing

@testable import DepotServer

@Suite struct FaultTests {
  private let content = Fixture.bytes(300_000)

  /// One rule for one GET of `/files/a`; the second GET is to be unharmed.
  private func get(
    _ action: String, _ headers: [String: String] = [:], path: String = "/files/a",
    _ check: (Reply?, Duration) -> Void
  ) async throws {
    let rule = "[{\"match\":{\"method\":\"GET\",\"path\":\"/files/*\"},\"times\":1,\"action\":\(action)}]"
    try await Fixture.run(faults: rule) { (fixture) async throws in
      fixture.put("a", content)
      fixture.put("b", Fixture.bytes(1000, seed: 7))
      let start = ContinuousClock.now
      check(try await fixture.client.send("GET", path, headers), start.duration(to: .now))
      #expect(try await fixture.client.send("GET", "/files/a")?.body == content)
    }
  }

  @Test func dropMidBody() async throws {
    try await get("{\"dropAfter\":\"100KiB\"}") { reply, _ in
      #expect(reply?.status == 200 && reply?.headers["content-length"] == "300000")
      #expect(reply?.body == Array(content[..<102_400]))
    }
  }

  @Test func lengths() async throws {
    try await get("{\"shortBy\":5}") { reply, _ in #expect(reply?.body == Array(content.dropLast(5))) }
    try await get("{\"longBy\":5}") { reply, _ in
      #expect(reply?.body == content + Array("xxxxx".utf8) && reply?.headers["content-length"] == "300000")
    }
    try await get("{\"chunked\":true}") { reply, _ in
      #expect(reply?.headers["content-length"] == nil && reply?.headers["transfer-encoding"] == "chunked")
    }
  }

  @Test func ranges() async throws {
    let asked = ["Range": "bytes=100-199"]
    try await get("{\"contentRange\":\"none\"}", asked) { reply, _ in
      #expect(reply?.status == 206 && reply?.headers["content-range"] == nil)
    }
    try await get("{\"contentRange\":\"wrong\"}", asked) { reply, _ in
      #expect(reply?.headers["content-range"] == "bytes 101-200/300001")
    }
    try await get("{\"contentRange\":\"bytes 1-2/3\"}", asked) { reply, _ in
      #expect(reply?.headers["content-range"] == "bytes 1-2/3")
    }
    try await get("{\"shiftRange\":50}", asked) { reply, _ in
      #expect(
        reply?.headers["content-range"] == "bytes 150-249/300000" && reply?.body == Array(content[150..<250]))
    }
    try await get("{\"ignoreRange\":true}", asked) { reply, _ in
      #expect(reply?.status == 200 && reply?.body == content && reply?.headers["content-range"] == nil)
    }
  }

  @Test func flippedBit() async throws {
    try await get("{\"flipBit\":200000}") { reply, _ in
      var expected = content
      expected[200_000] ^= 1
      #expect(reply?.body == expected)
    }
  }

  @Test func statusAndTime() async throws {
    try await get("{\"status\":429,\"retryAfter\":\"3\",\"code\":\"SLOW_DOWN\"}") { reply, _ in
      #expect(
        reply?.status == 429 && reply?.headers["retry-after"] == "3" && reply?.field("code") == "SLOW_DOWN")
    }
    try await get("{\"delay\":\"300ms\"}") { reply, took in
      #expect(reply?.status == 200 && took >= .milliseconds(300))
    }
    try await get("{\"rate\":600000}") { reply, took in
      #expect(reply?.body == content && took >= .milliseconds(450))
    }
    try await get("{\"loseAnswer\":true}") { reply, _ in #expect(reply == nil) }
  }

  @Test func validators() async throws {
    let preference = ["Want-Content-Digest": "sha-256=10"]
    try await get("{\"contentDigest\":\"none\"}", preference) { reply, _ in
      #expect(reply?.headers["content-digest"] == nil && reply?.headers["repr-digest"] != nil)
    }
    try await get("{\"contentDigest\":\"wrong\"}", preference) { reply, _ in
      #expect(reply?.headers["content-digest"] != nil)
      #expect(reply?.headers["content-digest"] != reply?.headers["repr-digest"])
    }
    try await get("{\"etag\":\"none\",\"reprDigest\":\"none\"}") { reply, _ in
      #expect(reply?.headers["etag"] == nil && reply?.headers["repr-digest"] == nil && reply?.body == content)
    }
    try await get("{\"etag\":\"\\\"v2\\\"\"}", ["If-Range": "\"v1\"", "Range": "bytes=0-1"]) { reply, _ in
      #expect(reply?.status == 200 && reply?.headers["etag"] == "\"v2\"")
    }
    try await get("{\"replaceWith\":\"b\"}") { reply, _ in
      #expect(reply?.body == Fixture.bytes(1000, seed: 7))
    }
    try await get("{\"replaceWith\":\"b\"}", path: "/files/a/meta") { reply, _ in
      #expect(reply?.field("sha256") == Fixture.sha256(Fixture.bytes(1000, seed: 7)))
    }
  }

  @Test func skipTimesAndHeader() async throws {
    let rule = """
      {"rules": [{"match": {"path": "/files/?", "header": {"Range": "bytes=1-*"}}, "skip": 1, "times": 2,
      "action": {"status": 500}}]}
      """
    try await Fixture.run(faults: rule) { (fixture) async throws in
      fixture.put("a", content)
      var statuses: [Int] = []
      for _ in 0..<5 {
        #expect(try await fixture.client.send("GET", "/files/a", ["Range": "bytes=2-3"])?.status == 206)
        statuses.append(try await fixture.client.send("GET", "/files/a", ["Range": "bytes=1-3"])?.status ?? 0)
      }
      #expect(statuses == [206, 500, 500, 206, 206])
    }
  }

  /// One rule for chunk 1 of an upload, which then goes on to its end.
  private func upload(
    _ action: String, match: String = "{\"path\":\"*/chunks/1\"}", times: Int = 1,
    _ check: (Fixture, String, Reply?) async throws -> Void
  ) async throws {
    let rule = "[{\"match\":\(match),\"times\":\(times),\"action\":\(action)}]"
    try await Fixture.run(faults: rule) { (fixture) async throws in
      let id = try await fixture.create("up", content, chunk: 100_000)
      try await fixture.send(id, 0, of: content, chunk: 100_000)
      try await check(fixture, id, try await fixture.send(id, 1, of: content, chunk: 100_000))
    }
  }

  @Test func uploadDropped() async throws {
    try await upload("{\"dropUploadAfter\":50000}") { (fixture, id, reply) async throws in
      #expect(reply == nil)
      #expect(try await fixture.received(id) == [0])
      #expect(try await fixture.send(id, 1, of: content, chunk: 100_000)?.status == 201)
    }
  }

  @Test func uploadFlipped() async throws {
    try await upload("{\"flipUploadBit\":99999}") { (fixture, id, reply) async throws in
      #expect(reply?.status == 422 && reply?.field("code") == "CHUNK_HASH_MISMATCH")
      #expect(try await fixture.received(id) == [0])
    }
  }

  @Test func chunkAnswerLost() async throws {
    try await upload("{\"loseAnswer\":true}") { (fixture, id, reply) async throws in
      #expect(reply == nil)
      #expect(try await fixture.received(id) == [0, 1])
      #expect(try await fixture.send(id, 1, of: content, chunk: 100_000)?.status == 200)
    }
  }

  @Test func sessionsExpiredAndForgotten() async throws {
    try await upload("{\"expire\":true}") { (fixture, id, reply) async throws in
      #expect(reply?.status == 410 && reply?.field("code") == "SESSION_EXPIRED")
      #expect(try await fixture.received(id) == [0])
    }
    try await upload("{\"forget\":\"session\"}") { (fixture, id, reply) async throws in
      #expect(reply?.status == 404 && reply?.field("code") == "SESSION_EXPIRED")
      #expect(try await fixture.client.send("GET", "/uploads/sessions/\(id)")?.status == 404)
    }
    try await upload("{\"forget\":\"chunks\"}") { (fixture, id, reply) async throws in
      #expect(reply?.status == 201)
      #expect(try await fixture.received(id) == [1])
      for index in [0, 2] { try await fixture.send(id, index, of: content, chunk: 100_000) }
      #expect(try await fixture.finalize(id)?.field("fileHashSha256") == Fixture.sha256(content))
    }
  }

  @Test func requiredHeader() async throws {
    let action = "{\"requireHeader\":{\"name\":\"X-Ticket\",\"value\":\"7\"}}"
    try await upload(action, match: "{\"path\":\"/uploads/*\"}", times: 99) {
      (fixture, id, reply) async throws in
      #expect(reply?.status == 400 && reply?.field("code") == "HEADER_REQUIRED")
      let json = "{\"fileName\":\"x\",\"fileSize\":1}"
      let created = try await fixture.client.send("POST", "/uploads/sessions", body: Array(json.utf8))
      #expect(created?.text.contains("\"requiredHeaders\":{\"X-Ticket\":\"7\"}") == true)
      let good = try await fixture.send(id, 1, of: content, chunk: 100_000, extra: ["X-Ticket": "7"])
      #expect(good?.status == 201)
    }
  }

  @Test func wrongFinalHash() async throws {
    try await upload("{\"finalHash\":\"wrong\"}", match: "{\"path\":\"*/finalize\"}") {
      (fixture, id, _) async throws in
      try await fixture.send(id, 2, of: content, chunk: 100_000)
      let wrong = try await fixture.finalize(id)
      #expect(wrong?.status == 200 && wrong?.field("fileHashSha256") != Fixture.sha256(content))
      #expect(try await fixture.finalize(id)?.field("fileHashSha256") == Fixture.sha256(content))
    }
  }

  @Test(arguments: [
    "[{\"action\":{\"dropafter\":1}}]", "[{\"action\":{},\"time\":1}]",
    "[{\"match\":{\"url\":\"x\"},\"action\":{}}]",
    "[{}]", "{", "[{\"action\":{\"delay\":\"2 weeks\"}}]", "[{\"action\":{\"status\":99}}]",
    "[{\"action\":{\"forget\":\"all\"}}]", "[{\"action\":{\"rate\":-1}}]",
    "[{\"action\":{\"uploadRate\":0}}]",
    "[{\"skip\":-9223372036854775808,\"action\":{}}]", "[{\"times\":-1,\"action\":{}}]",
  ])
  func badFaultFile(json: String) async {
    await #expect(throws: DepotError.self) { try await Fixture.run(faults: json) { _ in } }
  }

  @Test(arguments: [("{}", ": `rules` is missing"), ("[{}]", ": 0: `action` is missing")])
  func aKeyThatIsMissing(json: String, words: String) async throws {
    let error = try await #require(throws: DepotError.self) { try await Fixture.run(faults: json) { _ in } }
    #expect(error.description.hasSuffix(words), "\(error.description)")
  }

  @Test func onlyOnLoopback() async {
    await #expect(throws: DepotError.self) {
      try await Fixture.run(faults: "[]", { $0.host = "0.0.0.0" }) { _ in }
    }
  }
}
