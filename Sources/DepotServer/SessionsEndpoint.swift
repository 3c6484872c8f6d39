import HTTPTypes
import HummingbirdCore
import Synchronization

/// The chunk-session API under `/uploads/sessions`.
struct SessionsEndpoint: Sendable {
  let store: SessionStore
  let publisher: Publisher
  let pool: BlockingPool
  let ttl: Duration
  let maxChunk: Int

  func create(_ call: Call, _ writer: borrowing ResponseWriter) async throws -> Answer {
    try Methods.require(call.method, [.post])
    let message = try await call.json(SessionMessages.Create.self, writer)
    var requested = try message.record(ttl: ttl, maxChunk: maxChunk)
    requested.key = call.header(.idempotencyKey)
    let (session, isNew) = try await pool.run { [store, requested] in
      try store.create(requested, resumeFrom: message.resumeFrom)
    }
    let record = session.record
    let required = call.faults.requiredHeaders.map { ($0.name, $0.value) }
    let created = SessionMessages.Created(
      sessionId: record.id, expiresAt: HTTPDate.rfc3339(record.expiresAt), chunkSize: record.chunkSize,
      maxChunkSize: maxChunk, receivedChunks: session.received,
      requiredHeaders: required.isEmpty ? nil : Dictionary(required) { _, last in last })
    var answer = Answer.json(created, status: isNew ? .created : .ok)
    answer.headers[.location] = "/uploads/sessions/\(record.id)"
    return answer
  }

  func session(_ id: String, _ call: Call) async throws -> Answer {
    try Methods.require(call.method, [.get, .head, .delete])
    let session = try await find(id, call)
    if call.method == .delete {
      // What is being finished is to become a file, or to be refused, first.
      if let finishing = session.state.withLock({ $0.finishing }) { await finishing.value }
      try await pool.run { [store] in store.remove(id) }
      return Answer(.noContent)
    }
    let record = session.record
    return .json(
      SessionMessages.Status(
        sessionId: id, fileName: record.fileName, fileSize: record.fileSize, chunkSize: record.chunkSize,
        receivedChunks: session.received, expiresAt: HTTPDate.rfc3339(record.expiresAt),
        finalized: record.finishedSha256 != nil,
        remoteFileId: record.finishedSha256.map { _ in record.remoteFileId },
        fileHashSha256: record.finishedSha256))
  }

  /// - Parameter index: nil where only the Content-Range tells which chunk it is.
  func chunk(
    _ id: String, _ index: Int?, _ call: Call, _ writer: borrowing ResponseWriter
  ) async throws -> Answer {
    try Methods.require(call.method, [.put])
    let session = try await find(id, call)
    let record = session.record
    try checkRequiredHeaders(call)
    let length = call.header(.contentLength).flatMap { Int($0) }
    if let length, length > maxChunk { throw tooLarge(length) }
    guard let text = call.header(.contentRange), let range = ContentRange(text) else {
      throw Problem(400, "BAD_CONTENT_RANGE", "a chunk needs Content-Range: bytes FIRST-LAST/TOTAL")
    }
    if range.count > maxChunk { throw tooLarge(range.count) }
    let actual = index ?? range.first / record.chunkSize
    guard (0..<record.chunkCount).contains(actual) else {
      throw Problem(
        400, "BAD_CONTENT_RANGE", "chunk \(actual): there are \(record.chunkCount), counted from 0")
    }
    call.tally.chunk.store(actual, ordering: .relaxed)
    let expected = record.range(of: actual)
    guard range.total == record.fileSize, range.first == expected.offset, range.count == expected.count else {
      let right = "bytes \(expected.offset)-\(expected.end - 1)/\(record.fileSize)"
      throw Problem(400, "BAD_CONTENT_RANGE", "chunk \(actual) is \(right), not \(text)")
    }
    if let length, length != range.count {
      throw Problem(
        400, "CHUNK_LENGTH", "Content-Range promises \(range.count) bytes, Content-Length \(length)")
    }
    let receiver = ChunkReceiver(
      session: session, index: actual, range: expected, claimed: try claimedHash(call), call: call,
      pool: pool)
    return try await receiver.receive(writer)
  }

  func finalize(_ id: String, _ call: Call, _ writer: borrowing ResponseWriter) async throws -> Answer {
    try Methods.require(call.method, [.post])
    let session = try await find(id, call)
    let message = try await call.json(SessionMessages.Finalize.self, writer)
    let record = try await session.finish(
      claimed: try SessionMessages.hash(message.fileHashSha256), publisher: publisher)
    var digest = record.finishedSha256 ?? ""
    if call.faults[\.finalHash] == "wrong" { digest = String(digest.reversed()) }
    return .json(SessionMessages.Finalized(remoteFileId: record.remoteFileId, fileHashSha256: digest))
  }

  private func find(_ id: String, _ call: Call) async throws -> UploadSession {
    if call.faults[\.expire] == true { throw UploadSession.over }
    if call.faults[\.forget] == "session" { try await pool.run { [store] in store.remove(id) } }
    let session = try store.find(id)
    if call.faults[\.forget] == "chunks" {
      try await pool.run { try session.forgetChunks() }
      await session.hasher.reset()
    }
    return session
  }

  private func checkRequiredHeaders(_ call: Call) throws {
    for required in call.faults.requiredHeaders {
      guard let name = HTTPField.Name(required.name), call.header(name) != required.value else { continue }
      throw Problem(400, "HEADER_REQUIRED", "chunks of this session need the header \(required.name)")
    }
  }

  /// `X-Chunk-Hash: sha256=HEX`. Without it the server's own hash is what is recorded.
  private func claimedHash(_ call: Call) throws -> String? {
    guard let text = call.header(.chunkHash) else { return nil }
    guard text.lowercased().hasPrefix("sha256="), let digest = Hex.sha256(text.dropFirst(7)) else {
      throw Problem(400, "BAD_CHUNK_HASH", "X-Chunk-Hash must be sha256= and 64 hexadecimal digits")
    }
    return digest
  }

  private func tooLarge(_ count: Int) -> Problem {
    var problem = Problem(413, "CHUNK_TOO_LARGE", "a chunk may have \(maxChunk) bytes, this one has \(count)")
    problem.maxChunkSize = maxChunk
    return problem
  }
}
