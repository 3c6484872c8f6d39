import Glibc
import Testing

@testable import DepotServer

@Suite struct SessionTests {
  private let content = Fixture.bytes(250_000)
  private let chunk = 100_000

  @Test(arguments: [false, true])
  func lifeCycle(byRange: Bool) async throws {
    try await Fixture.run { (fixture) async throws in
      let hash = Fixture.sha256(content)
      let id = try await fixture.create("up/load.bin", content, chunk: chunk, hash: hash)
      for index in [2, 0] {
        #expect(
          try await fixture.send(id, index, of: content, chunk: chunk, byRange: byRange)?.status == 201)
      }
      #expect(try await fixture.send(id, 0, of: content, chunk: chunk, byRange: byRange)?.status == 200)
      #expect(try await fixture.received(id) == [0, 2])
      let early = try await fixture.finalize(id)
      #expect(
        early?.status == 409 && early?.field("code") == "CHUNKS_MISSING" && early?.numbers("missing") == [1])
      #expect(early?.headers["content-type"] == "application/problem+json")
      #expect(fixture.read("up/load.bin") == nil)
      #expect(try await fixture.send(id, 1, of: content, chunk: chunk, byRange: byRange)?.status == 201)
      let done = try await fixture.finalize(id, hash: hash.uppercased())
      let again = try await fixture.finalize(id)
      #expect(done?.status == 200 && done?.field("fileHashSha256") == hash && done?.text == again?.text)
      #expect(fixture.read("up/load.bin") == content)
      let remote = done?.field("remoteFileId") ?? ""
      let status = try await fixture.client.send("GET", "/uploads/sessions/\(id)")
      #expect(status?.text.contains("\"finalized\":true") == true && status?.field("remoteFileId") == remote)
      #expect(try await fixture.client.send("DELETE", "/uploads/sessions/\(id)")?.status == 204)
      #expect(try await fixture.client.send("GET", "/uploads/sessions/\(id)")?.status == 404)
      #expect(try await fixture.client.send("GET", "/files/\(remote)")?.body == content)
      #expect(Disk.list(fixture.root + "/up") == ["load.bin"])
    }
  }

  @Test func remoteFileOutlivesItsName() async throws {
    try await Fixture.run { (fixture) async throws in
      var remotes: [String] = []
      for seed in [3, 4] as [UInt64] {
        let content = Fixture.bytes(1000, seed: seed)
        let id = try await fixture.create("same.txt", content, chunk: 1000)
        try await fixture.send(id, 0, of: content, chunk: 1000)
        remotes.append(try await fixture.finalize(id)?.field("remoteFileId") ?? "")
      }
      #expect(
        try await fixture.client.send("GET", "/files/\(remotes[0])")?.body == Fixture.bytes(1000, seed: 3))
      #expect(try await fixture.client.send("GET", "/files/same.txt")?.body == Fixture.bytes(1000, seed: 4))
      let meta = try await fixture.client.send("GET", "/files/\(remotes[0])/meta")
      #expect(meta?.field("sha256") == Fixture.sha256(Fixture.bytes(1000, seed: 3)))
      #expect(meta?.field("mimeType") == "text/plain")
    }
  }

  /// A body whose transfer coding can't be read is the client's fault.
  @Test(arguments: [("chunked", "zz\r\n"), ("chunked", "-1\r\n{}\r\n"), ("xchunked", "0\r\n\r\n")])
  func unreadableBody(coding: String, body: String) async throws {
    try await Fixture.run { (fixture) async throws in
      let reply = try await fixture.client.send(
        "POST", "/uploads/sessions", body: Array(body.utf8), coding: coding)
      #expect(reply?.status == 400 && reply?.field("code") == "BAD_REQUEST")
    }
  }

  @Test func emptyFile() async throws {
    try await Fixture.run { (fixture) async throws in
      let id = try await fixture.create("empty", [], chunk: 10)
      #expect(try await fixture.finalize(id)?.field("fileHashSha256") == Fixture.sha256([]))
      #expect(fixture.read("empty") == [])
      let whole = try await fixture.client.send("GET", "/files/empty")
      #expect(whole?.status == 200 && whole?.headers["content-length"] == "0")
    }
  }

  @Test func refusals() async throws {
    try await Fixture.run(faults: nil, { $0.maxChunk = 100_000 }) { (fixture) async throws in
      let id = try await fixture.create("a", content, chunk: 999_999)
      #expect(
        try await fixture.client.send("GET", "/uploads/sessions/\(id)")?.text.contains("\"chunkSize\":100000")
          == true)
      let part = Array(content[..<chunk])
      let hash = "sha256=" + Fixture.sha256(part)
      let right = "bytes 0-99999/250000"
      let table: [(String, [String: String], [UInt8], Int, String)] = [
        ("0", ["X-Chunk-Hash": hash], part, 400, "BAD_CONTENT_RANGE"),
        ("0", ["Content-Range": "bytes=0-99999/250000"], part, 400, "BAD_CONTENT_RANGE"),
        ("0", ["Content-Range": "bytes 0-99999/250001"], part, 400, "BAD_CONTENT_RANGE"),
        ("1", ["Content-Range": right], part, 400, "BAD_CONTENT_RANGE"),
        ("3", ["Content-Range": right], part, 400, "BAD_CONTENT_RANGE"),
        ("-1", ["Content-Range": right], part, 400, "BAD_CONTENT_RANGE"),
        ("", ["Content-Range": "bytes 5-100004/250000"], part, 400, "BAD_CONTENT_RANGE"),
        ("x", ["Content-Range": right], part, 404, "NOT_FOUND"),
        ("0", ["Content-Range": right], part + [0], 413, "CHUNK_TOO_LARGE"),
        ("2", ["Content-Range": "bytes 200000-249999/250000"], part, 400, "CHUNK_LENGTH"),
        ("0", ["Content-Range": right], Array(part.dropLast()), 400, "CHUNK_LENGTH"),
        ("0", ["Content-Range": right, "X-Chunk-Hash": "md5=00"], part, 400, "BAD_CHUNK_HASH"),
        (
          "0", ["Content-Range": right, "X-Chunk-Hash": "sha256=" + Fixture.sha256([])], part, 422,
          "CHUNK_HASH_MISMATCH"
        ),
      ]
      for (index, headers, body, status, code) in table {
        let path = "/uploads/sessions/\(id)/chunks" + (index.isEmpty ? "" : "/\(index)")
        let reply = try await fixture.client.send("PUT", path, headers, body: body)
        #expect(
          reply?.status == status && reply?.field("code") == code,
          "\(index) \(headers): \(reply?.text ?? "-")")
      }
      #expect(try await fixture.received(id) == [])
      #expect(try await fixture.send(id, 0, of: content, chunk: chunk)?.status == 201)
      let other = Fixture.bytes(250_000, seed: 9)
      let conflict = try await fixture.send(id, 0, of: other, chunk: chunk)
      #expect(conflict?.status == 409 && conflict?.field("code") == "CHUNK_CONFLICT")
      // A body that is not what its header says, for a chunk that is here: neither accepted nor harmful.
      let lie = try await fixture.send(id, 0, of: other, chunk: chunk, hash: Fixture.sha256(part))
      #expect(lie?.status == 422)
      for index in [1, 2] { try await fixture.send(id, index, of: content, chunk: chunk) }
      #expect(try await fixture.finalize(id)?.status == 200 && fixture.read("a") == content)
    }
  }

  @Test(arguments: [
    ("{\"fileName\":\"../x\",\"fileSize\":1}", 400, "BAD_FILE_NAME"),
    ("{\"fileName\":\".depot/x\",\"fileSize\":1}", 400, "BAD_FILE_NAME"),
    ("{\"fileName\":\"x\",\"fileSize\":-1}", 400, "BAD_REQUEST"),
    ("{\"fileName\":\"x\"}", 400, "BAD_REQUEST"),
    ("{\"fileName\":\"x\",\"fileSize\":1,\"chunkSize\":0}", 400, "BAD_REQUEST"),
    ("{\"fileName\":\"x\",\"fileSize\":1,\"fileHashSha256\":\"zz\"}", 400, "BAD_REQUEST"),
    ("{", 400, "BAD_REQUEST"),
  ])
  func createRefuses(json: String, status: Int, code: String) async throws {
    try await Fixture.run { (fixture) async throws in
      let reply = try await fixture.client.send("POST", "/uploads/sessions", body: Array(json.utf8))
      #expect(reply?.status == status && reply?.field("code") == code)
    }
  }

  @Test func integrityMismatch() async throws {
    try await Fixture.run { (fixture) async throws in
      let wrong = Fixture.sha256([1])
      let id = try await fixture.create("a", content, chunk: chunk, hash: wrong)
      for index in 0...2 { try await fixture.send(id, index, of: content, chunk: chunk) }
      for hash in [nil, Fixture.sha256(content), wrong] {
        let reply = try await fixture.finalize(id, hash: hash)
        #expect(reply?.status == 422 && reply?.field("code") == "INTEGRITY_MISMATCH")
        #expect(reply?.field("expected") == wrong && reply?.field("actual") == Fixture.sha256(content))
      }
      #expect(fixture.read("a") == nil)
    }
  }

  /// Only a name that is taken is the client's matter: a full disk may have room later.
  @Test(arguments: [(EISDIR, 409), (ENOTDIR, 409), (ELOOP, 409), (ENOSPC, 507), (EDQUOT, 507), (EACCES, 500)])
  func nameThatCannotBeGiven(code: Int32, status: Int) {
    errno = code
    let error = Publisher.nameError("a/b")
    #expect(Problem(any: error).status == status)
  }

  @Test func nameOfAFolder() async throws {
    try await Fixture.run { (fixture) async throws in
      mkdir(fixture.root + "/folder", 0o755)
      fixture.put("file", [1])
      symlink("/tmp", fixture.root + "/link")
      for name in ["folder", "file/below", "link/below"] {
        let id = try await fixture.create(name, [], chunk: 1)
        let reply = try await fixture.finalize(id)
        #expect(reply?.status == 409 && reply?.field("code") == "NAME_CONFLICT", "\(name)")
        #expect(
          Disk.list(fixture.root + "/.depot/objects") == [], "\(name): its bytes are the session's alone")
      }
    }
  }
}
