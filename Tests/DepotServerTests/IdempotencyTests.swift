import Testing

@testable import DepotServer

/// A create that is repeated under its key, as its answer was lost or its client killed, opens no second session.
@Suite struct IdempotencyTests {
  private func create(
    _ fixture: Fixture, size: Int = 300, chunk: Int = 100, hash: String? = nil, key: String?
  ) async throws -> Reply? {
    let promise = hash.map { ",\"fileHashSha256\":\"\($0)\"" } ?? ""
    return try await fixture.client.send(
      "POST", "/uploads/sessions", key.map { ["Idempotency-Key": $0] } ?? [:],
      body: Array("{\"fileName\":\"a\",\"fileSize\":\(size),\"chunkSize\":\(chunk)\(promise)}".utf8))
  }

  @Test func repeatedCreate() async throws {
    try await Fixture.run { (fixture) async throws in
      let content = Fixture.bytes(300)
      let first = try await create(fixture, key: "\"k\"")
      let id = first?.field("sessionId") ?? ""
      #expect(first?.status == 201)
      #expect(try await fixture.send(id, 1, of: content, chunk: 100)?.status == 201)
      let again = try await create(fixture, key: "\"k\"")
      #expect(
        again?.status == 200 && again?.field("sessionId") == id && again?.numbers("receivedChunks") == [1])
      // Another file, another key, or none: another session.
      for (size, key) in [(301, "\"k\""), (300, "\"other\""), (300, nil)] as [(Int, String?)] {
        let other = try await create(fixture, size: size, key: key)
        #expect(other?.status == 201 && other?.field("sessionId") != id, "\(size) \(key ?? "no key")")
      }
    }
  }

  /// A session checks what it was promised: a request that promises something else is another one.
  @Test func anotherDigest() async throws {
    try await Fixture.run { (fixture) async throws in
      let hash = Fixture.sha256([1])
      var ids: Set<String> = []
      for promised in [nil, hash, Fixture.sha256([2])] {
        let reply = try await create(fixture, hash: promised, key: "\"k\"")
        #expect(reply?.status == 201)
        ids.insert(reply?.field("sessionId") ?? "")
      }
      #expect(ids.count == 3)
      #expect(
        try await create(fixture, hash: Fixture.sha256([2]).uppercased(), key: "\"k\"")?.status == 200)
      #expect(
        try await create(fixture, key: "\"k\"")?.status == 200, "who promises nothing asks for what is there")
    }
  }

  @Test func afterTheEnd() async throws {
    try await Fixture.run { (fixture) async throws in
      let content = Fixture.bytes(100)
      let first = try await create(fixture, size: 100, key: "\"k\"")?.field("sessionId") ?? ""
      #expect(try await fixture.client.send("DELETE", "/uploads/sessions/\(first)")?.status == 204)
      let second = try await create(fixture, size: 100, key: "\"k\"")
      let id = second?.field("sessionId") ?? ""
      #expect(second?.status == 201 && id != first)
      try await fixture.send(id, 0, of: content, chunk: 100)
      #expect(try await fixture.finalize(id)?.status == 200)
      #expect(try await create(fixture, size: 100, key: "\"k\"")?.status == 201)
    }
  }

  /// A killed depot knows the key.
  @Test func afterARestart() async throws {
    try await Fixture.run { (fixture) async throws in
      let id = try await create(fixture, key: "\"k\"")?.field("sessionId") ?? ""
      let record = try #require(SessionRecord.load(from: fixture.root + "/.depot/sessions/" + id))
      #expect(record.key == "\"k\"")
      let store = SessionStore(
        folder: fixture.root + "/.depot/sessions", pool: BlockingPool(threads: 1))
      var requested = record
      requested.id = "us-new"
      let (session, isNew) = try store.create(requested, resumeFrom: nil)
      #expect(session.id == id && !isNew)
    }
  }
}
