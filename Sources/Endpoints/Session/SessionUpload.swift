package import JobModel

/// Uploads over the chunk-session API: create, chunks in any order, query, finalize.
package struct SessionUpload: UploadProtocol {
  package let base: WebURL
  package let fileName: String
  package let form: SessionChunkForm
  package let abilities = UploadAbilities(
    resumes: true, order: .any, chunkDigests: [.sha256], fileDigests: [.sha256], renewsSessions: true,
    emptyFile: .noChunks)

  package init(base: WebURL, fileName: String, form: SessionChunkForm) {
    self.base = base
    self.fileName = fileName
    self.form = form
  }

  package var url: WebURL { base.appending("uploads/sessions") }

  /// More than any server has use for; each takes memory.
  private static let mostChunks = 10_000_000

  package func open(_ source: UploadSource, renewing old: RemoteSession?) -> Request? {
    var members: [JSON.Member] = [
      .init("fileName", .string(fileName)),
      .init("fileSize", .integer(source.size)),
      .init("mimeType", .string(source.contentType)),
      .init("chunkSize", .integer(source.chunkSize)),
    ]
    if let digest = source.digests[.sha256] { members.append(.init("fileHashSha256", .string(digest))) }
    if let old { members.append(.init("resumeFrom", .string(old.id))) }
    var headers: HeaderList = ["Content-Type": "application/json"]
    // A renewal has `resumeFrom` for the same purpose.
    if let key = source.key, old == nil { headers.append("Idempotency-Key", "\"\(key)\"") }
    return Request(
      "POST", url, headers: headers, body: .bytes(Array(JSON.object(members).text.utf8)))
  }

  package var keysSessions: Bool { true }

  /// A 413 names it.
  package func chunkLimit(_ answer: Answer) -> Int64? {
    guard answer.status == 413, let members = ProblemDetails(answer)?.members else { return nil }
    return members["maxChunkSize"].int64 ?? members["limit"].int64
  }

  package func opened(_ answer: Answer, source: UploadSource, now: Double) -> Verdict<RemoteSession> {
    let what = "open an upload session"
    guard answer.status == 201 || answer.status == 200 else { return refused(answer, what, now) }
    guard let members = answer.object, let id = members["sessionId"].string, isSegment(id) else {
      return .failure(violation("\(answer.url) opened a session without a sessionId", answer))
    }
    var size = members["chunkSize"].int64 ?? source.chunkSize
    if let limit = members["maxChunkSize"].int64, limit > 0 { size = min(size, limit) }
    size = min(size, ChunkLayout.largestChunk)
    guard size > 0 else { return .failure(violation("\(answer.url) wants chunks of \(size) bytes", answer)) }
    let count = ChunkLayout(size: source.size, chunkSize: size).count
    guard count <= Self.mostChunks else {
      return .failure(violation("\(answer.url) wants \(count) chunks of \(size) bytes", answer))
    }
    let expiry = expiry(members["expiresAt"])
    let headers = members["requiredHeaders"].dictionary ?? [:]
    if let bad = headers.first(where: { !RequiredHeader.canBeSent($0.key, $0.value) }) {
      return .failure(violation("\(answer.url) requires a header that can't be sent: `\(bad.key)`", answer))
    }
    return .value(
      RemoteSession(id: id, chunkSize: size, expiresAt: expiry, requiredHeaders: headers))
  }

  package func query(_ session: RemoteSession, after page: SessionHoldings?) -> Request? {
    Request("GET", place(session))
  }

  package func queried(_ answer: Answer, session: RemoteSession, source: UploadSource, now: Double)
    -> Verdict<SessionHoldings>
  {
    guard answer.status == 200 else { return refused(answer, "ask what the session holds", now) }
    guard let members = answer.object, let received = members["receivedChunks"].array else {
      return .failure(violation("\(answer.url) did not say what the session holds", answer))
    }
    if let size = members["fileSize"].int64, size != source.size {
      return .failure(
        violation("the session is for \(size) bytes, the source has \(source.size)", answer)
          .classed(.sessionGone))
    }
    if let size = members["chunkSize"].int64, size != session.chunkSize {
      return .failure(
        violation("the session has chunks of \(size) bytes, \(session.chunkSize) were agreed", answer)
          .classed(.sessionGone))
    }
    var holdings = SessionHoldings(
      chunks: Dictionary(
        received.compactMap { $0.int64.flatMap { Int(exactly: $0) } }.map { ($0, HeldChunk()) },
        uniquingKeysWith: { first, _ in first }),
      expiresAt: expiry(members["expiresAt"]))
    if let id = members["remoteFileId"].string, isSegment(id) {
      guard let file = finished(id, members) else { return .failure(noDigest(answer)) }
      holdings.finished = file
    }
    return .value(holdings)
  }

  package func put(_ chunk: UploadChunk, session: RemoteSession?, source: UploadSource) -> Request {
    var headers = HeaderList()
    headers.append(
      "Content-Range", "bytes \(chunk.range.lowerBound)-\(chunk.range.upperBound - 1)/\(source.size)")
    if let digest = chunk.digests[.sha256] { headers.append("X-Chunk-Hash", "sha256=\(digest)") }
    headers.append("Content-Type", "application/octet-stream")
    for (name, value) in (session?.requiredHeaders ?? [:]).sorted(by: { $0.key < $1.key }) {
      headers.set(name, value)
    }
    let chunks = (session.map(place) ?? url).appending("chunks")
    return Request(
      "PUT", form == .index ? chunks.appending(String(chunk.index)) : chunks, headers: headers,
      body: .source(chunk.range))
  }

  package func accepted(_ answer: Answer, chunk: UploadChunk, now: Double) -> Verdict<ChunkReceipt> {
    switch answer.status {
    case 200...299: return .value(ChunkReceipt())
    default:
      switch refused(answer, "chunk \(chunk.index)", now) as Verdict<ChunkReceipt> {
      case .failure(var failure):
        failure.chunk = chunk.index
        return .failure(failure)
      case .value(let receipt): return .value(receipt)
      }
    }
  }

  package func finalize(_ session: RemoteSession, source: UploadSource, chunks: [ChunkRecord]) -> Request? {
    let body: JSON = source.digests[.sha256].map { ["fileHashSha256": .string($0)] } ?? .object([])
    return Request(
      "POST", place(session).appending("finalize"), headers: ["Content-Type": "application/json"],
      body: .bytes(Array(body.text.utf8)))
  }

  package func finalized(
    _ answer: Answer, session: RemoteSession, source: UploadSource, chunks: [ChunkRecord], now: Double
  ) -> Verdict<UploadedFile> {
    guard answer.status == 200 || answer.status == 201 else { return refused(answer, "finalize", now) }
    guard let members = answer.object, let id = members["remoteFileId"].string, isSegment(id) else {
      return .failure(violation("\(answer.url) finalized without a remoteFileId", answer))
    }
    guard let file = finished(id, members) else { return .failure(noDigest(answer)) }
    return .value(file)
  }

  package func abort(_ session: RemoteSession) -> Request? { Request("DELETE", place(session)) }

  package func look() -> Request? { SessionDownload(base: base, path: fileName).probe() }

  package func readback(_ file: UploadedFile) -> (any DownloadProtocol)? {
    file.remoteID.map { SessionDownload(base: base, path: $0) }
  }

  package func inspect(_ file: UploadedFile) -> Request? {
    file.remoteID.map { SessionDownload(base: base, path: $0).probe() }
  }

  package func inspected(_ answer: Answer, now: Double) -> Verdict<RemoteObject> {
    SessionDownload(base: base, path: "").probed(answer, now: now)
  }

  private func place(_ session: RemoteSession) -> WebURL {
    url.appending(WebURL.encode(session.id, keepingSlash: false))
  }

  /// Whether an id can stand in a path: two dots would lead elsewhere.
  private func isSegment(_ id: String) -> Bool {
    let parts = id.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    return !id.isEmpty && !parts.contains { $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8) }
  }

  /// nil where the digest is none: neither a proof nor the absence of one.
  private func finished(_ id: String, _ members: JSON) -> UploadedFile? {
    let told = members["fileHashSha256"]
    if told == .null { return UploadedFile(remoteID: id) }
    return SessionDigest.sha256(told).map { UploadedFile(remoteID: id, digests: [.sha256: $0]) }
  }

  private func noDigest(_ answer: Answer) -> Failure {
    violation("\(answer.url) gave a fileHashSha256 that is not a SHA-256", answer)
  }

  /// `expiresAt` is RFC 3339 text, or seconds since 1970.
  private func expiry(_ value: JSON) -> Double? {
    if let text = value.string { return Timestamp.seconds(text) }
    return value.double
  }

  private func violation(_ message: String, _ answer: Answer) -> Failure {
    Failure(.protocolViolation, message, httpStatus: answer.status)
  }

  /// The API's own words for what it refuses (endpoints.md, The chunk-session API).
  private func refused<Value>(_ answer: Answer, _ what: String, _ now: Double) -> Verdict<Value> {
    let problem = ProblemDetails(answer)
    var failure = HTTPFailure.of(answer, doing: what, now: now)
    switch (answer.status, problem?.code) {
    case (404, _), (410, _), (_, "SESSION_EXPIRED"): failure.code = .sessionExpired
    case (_, "CHUNK_HASH_MISMATCH"), (_, "INTEGRITY_MISMATCH"): failure.code = .integrityMismatch
    case (409, "CHUNK_CONFLICT"): failure.code = .chunkConflict
    case (409, "CHUNKS_MISSING"):
      failure.code = .integrityMismatch
      let missing = problem?.members["missing"].array?.compactMap { $0.int64.map(String.init) } ?? []
      failure.actual = "missing: \(missing.prefix(20).joined(separator: ","))"
    case (413, _): failure.code = .protocolViolation
    default: break
    }
    failure.expected = problem?.members["expected"].string ?? failure.expected
    failure.actual = problem?.members["actual"].string ?? failure.actual
    return .failure(failure)
  }
}
