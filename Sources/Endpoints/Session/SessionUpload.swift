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

  /// 422 `CHUNK_HASH_MISMATCH`.
  package func refusesDamage(in session: RemoteSession) -> Bool { true }

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
  package func chunkLimit(_ response: Response) -> Int64? {
    guard response.status == 413, let members = ProblemDetails(response)?.members else { return nil }
    return members["maxChunkSize"].wholeNumber ?? members["limit"].wholeNumber
  }

  package func opened(_ response: Response, source: UploadSource, now: Double) -> Result<
    RemoteSession, Failure
  > {
    let what = "open an upload session"
    guard (200...299).contains(response.status) else { return unopened(response, what, now) }
    guard let members = response.object, let id = members["sessionId"].id, isSegment(id) else {
      return .failure(violation("\(response.url) opened a session without a sessionId", response))
    }
    // The server counts chunks by it: what can't be read is not the size that was asked for.
    for name in ["chunkSize", "maxChunkSize"]
    where members[name] != .null && members[name].wholeNumber == nil {
      return .failure(
        violation("\(response.url) opened a session with a \(name) that is no number", response))
    }
    var size = members["chunkSize"].wholeNumber ?? source.chunkSize
    if let limit = members["maxChunkSize"].wholeNumber, limit > 0 { size = min(size, limit) }
    size = min(size, ChunkLayout.largestChunk)
    guard size > 0 else {
      return .failure(violation("\(response.url) wants chunks of \(size) bytes", response))
    }
    let count = ChunkLayout(size: source.size, chunkSize: size).count
    guard count <= Self.mostChunks else {
      return .failure(violation("\(response.url) wants \(count) chunks of \(size) bytes", response))
    }
    let expiry = expiry(members["expiresAt"])
    var headers: [String: String] = [:]
    for header in members["requiredHeaders"].members ?? [] where header.value != .null {
      guard let value = RequiredHeader.value(header.value), RequiredHeader.canBeSent(header.name, value)
      else {
        return .failure(
          violation("\(response.url) requires a header that can't be sent: `\(header.name)`", response))
      }
      headers[header.name] = value
    }
    guard headers.reduce(0, { $0 + $1.key.utf8.count + $1.value.utf8.count }) <= RequiredHeader.most else {
      return .failure(
        violation("\(response.url) requires more than \(RequiredHeader.most) bytes of headers", response))
    }
    return .success(
      RemoteSession(id: id, chunkSize: size, expiresAt: expiry, requiredHeaders: headers))
  }

  /// A 404 that names no session is of the endpoint's URL. A session that was to be renewed is gone all the same.
  private func unopened(
    _ response: Response, _ what: String, _ now: Double
  ) -> Result<RemoteSession, Failure> {
    let result: Result<RemoteSession, Failure> = refused(response, what, now)
    guard case .failure(var failure) = result, failure.code == .sessionExpired,
      ProblemDetails(response)?.code != "SESSION_EXPIRED"
    else { return result }
    failure.code = .notFound
    failure.class = .sessionGone
    return .failure(failure)
  }

  package func query(_ session: RemoteSession, after page: SessionHoldings?) -> Request? {
    Request("GET", place(session))
  }

  package func queried(_ response: Response, session: RemoteSession, source: UploadSource, now: Double)
    -> Result<SessionHoldings, Failure>
  {
    guard response.status == 200 else { return refused(response, "ask what the session holds", now) }
    guard let members = response.object, let received = receivedChunks(members) else {
      return .failure(violation("\(response.url) did not say what the session holds", response))
    }
    if let size = members["fileSize"].wholeNumber, size != source.size {
      return .failure(
        violation("the session is for \(size) bytes, the source has \(source.size)", response)
          .classed(.sessionGone))
    }
    if let size = members["chunkSize"].wholeNumber, size != session.chunkSize {
      return .failure(
        violation("the session has chunks of \(size) bytes, \(session.chunkSize) were agreed", response)
          .classed(.sessionGone))
    }
    var holdings = SessionHoldings(
      chunks: Dictionary(
        received.compactMap { $0.wholeNumber.flatMap { Int(exactly: $0) } }.map { ($0, HeldChunk()) },
        uniquingKeysWith: { first, _ in first }),
      expiresAt: expiry(members["expiresAt"]))
    if let id = members["remoteFileId"].id, isSegment(id) {
      guard let file = finished(id, members) else { return .failure(noDigest(response)) }
      holdings.finished = file
    }
    return .success(holdings)
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

  package func accepted(_ response: Response, chunk: UploadChunk, now: Double) -> Result<
    ChunkReceipt, Failure
  > {
    switch response.status {
    case 200...299: return .success(ChunkReceipt())
    default:
      switch compared(response, "chunk \(chunk.index)", now) as Result<ChunkReceipt, Failure> {
      case .failure(var failure):
        failure.chunk = chunk.index
        return .failure(failure)
      case .success(let receipt): return .success(receipt)
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
    _ response: Response, session: RemoteSession, source: UploadSource, chunks: [ChunkRecord], now: Double
  ) -> Result<UploadedFile, Failure> {
    guard (200...299).contains(response.status) else { return compared(response, "finalize", now) }
    guard let members = response.object, let id = members["remoteFileId"].id, isSegment(id) else {
      return .failure(violation("\(response.url) finalized without a remoteFileId", response))
    }
    guard let file = finished(id, members) else { return .failure(noDigest(response)) }
    return .success(file)
  }

  package func abort(_ session: RemoteSession) -> Request? { Request("DELETE", place(session)) }

  /// That a file can be had by its name is depot's own.
  package func mayKnowIDsAlone(_ response: Response) -> Bool {
    response.headers["Server"]?.hasPrefix("depot/") != true
  }

  package func look() -> Request? { SessionDownload(base: base, path: fileName).probe() }

  package func readback(_ file: UploadedFile) -> (any DownloadProtocol)? {
    file.remoteID.map { SessionDownload(base: base, path: $0) }
  }

  package func inspect(_ file: UploadedFile) -> Request? {
    file.remoteID.map { SessionDownload(base: base, path: $0).probe() }
  }

  package func inspected(_ response: Response, now: Double) -> Result<RemoteObject, Failure> {
    SessionDownload(base: base, path: "").probed(response, now: now)
  }

  private func place(_ session: RemoteSession) -> WebURL {
    url.appending(WebURL.encode(session.id, keepingSlash: false))
  }

  /// Whether an id can stand in a path: two dots would lead elsewhere.
  private func isSegment(_ id: String) -> Bool {
    let parts = id.utf8.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
    return !id.isEmpty && !parts.contains { $0.elementsEqual(".".utf8) || $0.elementsEqual("..".utf8) }
  }

  /// An empty list may be left out, or be null, as Go writes it; nil where nothing says that the answer is of a session.
  private func receivedChunks(_ members: JSON) -> [JSON]? {
    let told = members["receivedChunks"]
    return told == .null && members["fileSize"].wholeNumber != nil ? [] : told.array
  }

  /// nil where the digest is none: neither a proof nor the absence of one.
  private func finished(_ id: String, _ members: JSON) -> UploadedFile? {
    let told = members["fileHashSha256"]
    if SessionDigest.isAbsent(told) { return UploadedFile(remoteID: id) }
    return SessionDigest.sha256(told).map { UploadedFile(remoteID: id, digests: [.sha256: $0]) }
  }

  private func noDigest(_ response: Response) -> Failure {
    violation("\(response.url) gave a fileHashSha256 that is not a SHA-256", response)
  }

  /// `expiresAt` is RFC 3339 text, or seconds since 1970.
  private func expiry(_ value: JSON) -> Double? {
    if let text = value.string { return Timestamp.seconds(text) }
    return value.double
  }

  private func violation(_ message: String, _ response: Response) -> Failure {
    Failure(.protocolViolation, message, httpStatus: response.status)
  }

  /// A refusal of bytes that the server compares with their digest: not every server has the API's own words for a mismatch.
  private func compared<Value>(_ response: Response, _ what: String, _ now: Double) -> Result<Value, Failure>
  {
    let result: Result<Value, Failure> = refused(response, what, now)
    guard case .failure(var failure) = result, failure.code == .protocolViolation, isMismatch(response) else {
      return result
    }
    failure.code = .integrityMismatch
    return .failure(failure)
  }

  /// By the word that is told; without one, by the API's status, or by tus's.
  private func isMismatch(_ response: Response) -> Bool {
    guard [400, 409, 422, 460].contains(response.status) else { return false }
    let body = ProblemDetails(response)?.members ?? .null
    guard let word = body["code"].string ?? body["errorCode"].string ?? body["error"]["code"].string else {
      return response.status == 422 || response.status == 460
    }
    return word.uppercased().hasSuffix("MISMATCH")
  }

  /// The API's own words for what it refuses (endpoints.md, The chunk-session API).
  private func refused<Value>(_ response: Response, _ what: String, _ now: Double) -> Result<Value, Failure> {
    let problem = ProblemDetails(response)
    var failure = HTTPFailure.of(response, doing: what, now: now)
    switch (response.status, problem?.code) {
    case (404, _), (410, _), (_, "SESSION_EXPIRED"): failure.code = .sessionExpired
    case (_, "CHUNK_HASH_MISMATCH"), (_, "INTEGRITY_MISMATCH"): failure.code = .integrityMismatch
    case (409, "CHUNK_CONFLICT"): failure.code = .chunkConflict
    case (409, "CHUNKS_MISSING"):
      failure.code = .integrityMismatch
      let missing = problem?.members["missing"].array ?? []
      failure.missingChunks = missing.compactMap { $0.wholeNumber.flatMap { Int(exactly: $0) } }
      failure.actual =
        "missing: \(failure.missingChunks.prefix(20).map(String.init).joined(separator: ","))"
    // depot's own word: a folder has the name.
    case (409, "NAME_CONFLICT"): failure.code = .permissionDenied
    case (413, _): failure.code = .protocolViolation
    default: break
    }
    failure.expected = problem?.members["expected"].string ?? failure.expected
    failure.actual = problem?.members["actual"].string ?? failure.actual
    return .failure(failure)
  }
}
