import Digests
package import JobModel

/// Uploads over tus 1.0.0 (tus.io, protocol 1.0.0: core, creation, checksum, expiration, termination).
///
/// One upload is one URL that counts its bytes: the session's id. Nothing closes it: the last byte does.
package struct TusUpload: UploadProtocol {
  /// Where uploads are created.
  package let url: WebURL
  package let fileName: String
  /// What goes into Upload-Metadata besides `filename` and `filetype`.
  package let metadata: [String: String]
  package let abilities = UploadAbilities(
    resumes: true, order: .byOffset, chunkDigests: [.sha256], emptyFile: .noChunks)

  package init(url: WebURL, fileName: String, metadata: [String: String] = [:]) {
    self.url = url
    self.fileName = fileName
    self.metadata = metadata
  }

  // The server's own word on what it can do.

  package func preparation() -> Request? { Request("OPTIONS", url) }

  package func prepared(
    _ response: Response, source: UploadSource, now: Double
  ) -> Result<[String: String], Failure> {
    // Many servers and the proxies before them leave OPTIONS out: then only the core is counted on.
    guard (200...299).contains(response.status) else { return .success([:]) }
    if let versions = response.headers.combined("Tus-Version"), !Self.list(versions).contains(Tus.version) {
      return .failure(
        Failure(
          .protocolViolation, "\(url) speaks tus \(versions), haul speaks \(Tus.version)",
          httpStatus: response.status))
    }
    if let limit = response.headers["Tus-Max-Size"].flatMap({ ByteCount.read($0) }), limit < source.size {
      return .failure(
        Failure(
          .protocolViolation,
          "\(url) takes files of up to \(limit) bytes, `\(fileName)` has \(source.size): ask for a larger Tus-Max-Size",
          httpStatus: response.status))
    }
    guard let told = response.headers.combined("Tus-Extension") else { return .success([:]) }
    let extensions = Self.list(told)
    var facts = ["extensions": extensions.joined(separator: ",")]
    if extensions.contains("checksum") {
      let offered = Self.list(response.headers.combined("Tus-Checksum-Algorithm") ?? "")
      facts["checksum"] = Tus.checksums.first { offered.contains($0.name) }?.name
    }
    return .success(facts)
  }

  private static func list(_ text: String) -> [String] {
    text.split(separator: ",").map { String($0.filter { $0 != " " && $0 != "\t" }).lowercased() }
  }

  // Creation.

  package func open(_ source: UploadSource, renewing old: RemoteSession?) -> Request? {
    Request(
      "POST", url,
      headers: [
        "Tus-Resumable": Tus.version, "Upload-Length": String(source.size),
        "Upload-Metadata": metadataField(source),
      ])
  }

  private func metadataField(_ source: UploadSource) -> String {
    let own = [("filename", fileName), ("filetype", source.contentType)]
    let metadata = metadata.merging(source.preserved.metadata) { $1 }.merging(source.given.metadata) { $1 }
      .filter { $0.key != "filename" && $0.key != "filetype" }
    return (own + metadata.sorted { $0.key < $1.key }.map { ($0.key, $0.value) }).map { key, value in
      value.isEmpty ? key : "\(key) \(Base64.encode(Array(value.utf8)))"
    }.joined(separator: ",")
  }

  package func opened(_ response: Response, source: UploadSource, now: Double) -> Result<
    RemoteSession, Failure
  > {
    guard (200...299).contains(response.status) else {
      return .failure(refusal(response, doing: "create the upload", now: now))
    }
    guard let location = response.headers["Location"],
      let place = response.url.resolving(location)?.encodingRaw
    else {
      return .failure(
        Failure(
          .protocolViolation, "\(response.url) created an upload without a Location",
          httpStatus: response.status)
      )
    }
    guard !(url.scheme == "https" && place.scheme == "http") else {
      return .failure(
        Failure(
          .policyDenied,
          "\(url) puts the upload at \(place): haul does not follow https to http; tell the server that it stands behind a proxy",
          httpStatus: response.status))
    }
    return .success(
      RemoteSession(id: place.text, chunkSize: source.chunkSize, expiresAt: Tus.expiry(response.headers)))
  }

  // The upload itself.

  /// Credentials and configured headers stay with the endpoint's origin, wherever the server puts the upload.
  private func request(_ method: String, _ session: RemoteSession?, headers: HeaderList = [:]) -> Request {
    let place = session.flatMap { WebURL($0.id) } ?? url
    var headers = headers
    headers.append("Tus-Resumable", Tus.version)
    return Request(method, place, headers: headers, isAuthorised: place.origin == url.origin)
  }

  package func query(_ session: RemoteSession, after page: SessionHoldings?) -> Request? {
    request("HEAD", session)
  }

  package func queried(
    _ response: Response, session: RemoteSession, source: UploadSource, now: Double
  ) -> Result<SessionHoldings, Failure> {
    switch response.status {
    case 200...299: break
    // An upload that is gone may be hidden behind a 403 (core protocol, HEAD).
    case 403, 404, 410: return .failure(expired(response, "ask for the offset", now))
    default: return .failure(refusal(response, doing: "ask for the offset", now: now))
    }
    guard let offset = response.headers["Upload-Offset"].flatMap({ ByteCount.read($0) }) else {
      return .failure(violation(response, "did not tell the upload's offset"))
    }
    if let length = response.headers["Upload-Length"].flatMap({ ByteCount.read($0) }), length != source.size {
      return .failure(
        violation(response, "has an upload of \(length) bytes, the source has \(source.size)")
          .classed(.sessionGone))
    }
    // A server that has lost its uploads may have given this one's id to somebody else's.
    if let told = TusDownload.fileName(response.headers), told != fileName {
      return .failure(violation(response, "has an upload of another file").classed(.sessionGone))
    }
    guard offset <= source.size else {
      return .failure(
        violation(response, "holds \(offset) bytes of the source's \(source.size)").classed(.sessionGone))
    }
    return .success(SessionHoldings(offset: offset, expiresAt: Tus.expiry(response.headers)))
  }

  package func chunkDigests(in session: RemoteSession?) -> [DigestAlgorithm] {
    guard let algorithm = Tus.checksum(session), !abilities.chunkDigests.contains(algorithm.digest) else {
      return abilities.chunkDigests
    }
    return abilities.chunkDigests + [algorithm.digest]
  }

  package func provesUpload(in session: RemoteSession) -> Bool { Tus.checksum(session) != nil }
  package func refusesDamage(in session: RemoteSession) -> Bool { Tus.checksum(session) != nil }

  package func put(_ chunk: UploadChunk, session: RemoteSession?, source: UploadSource) -> Request {
    var headers: HeaderList = [
      "Content-Type": "application/offset+octet-stream", "Upload-Offset": String(chunk.range.lowerBound),
    ]
    if let algorithm = Tus.checksum(session), let digest = chunk.digests[algorithm.digest],
      let bytes = Hex.decode(digest)
    {
      headers.append("Upload-Checksum", "\(algorithm.name) \(Base64.encode(bytes))")
    }
    var patch = request("PATCH", session, headers: headers)
    patch.body = .source(chunk.range)
    return patch
  }

  package func accepted(_ response: Response, chunk: UploadChunk, now: Double) -> Result<
    ChunkReceipt, Failure
  > {
    switch response.status {
    case 200...299:
      guard let offset = response.headers["Upload-Offset"].flatMap({ ByteCount.read($0) }) else {
        return .failure(violation(response, "took a chunk and did not tell the upload's offset"))
      }
      guard offset == chunk.range.upperBound else {
        var failure = violation(
          response, "is at byte \(offset) after a chunk that ends at \(chunk.range.upperBound)")
        // It has kept a part: where it stands is asked for, as after a break.
        failure.code = .serverError
        return .failure(failure)
      }
      return .success(ChunkReceipt(expiresAt: Tus.expiry(response.headers)))
    case 404, 410: return .failure(expired(response, "send a chunk", now))
    default:
      var failure = refusal(response, doing: "chunk \(chunk.index)", now: now)
      if failure.code == .integrityMismatch { failure.chunk = chunk.index }
      // Settled once the server names the offset that was meant.
      if failure.code == .chunkConflict { failure.class = .damaged(chunk: chunk.index) }
      return .failure(failure)
    }
  }

  // The last byte closes the upload.

  package func finalize(
    _ session: RemoteSession, source: UploadSource, chunks: [ChunkRecord]
  ) -> Request? { nil }

  package func finalized(
    _ response: Response, session: RemoteSession, source: UploadSource, chunks: [ChunkRecord], now: Double
  ) -> Result<UploadedFile, Failure> { .failure(Failure(.internal, "a tus upload is not closed")) }

  package func closed(_ session: RemoteSession?, receipt: ChunkReceipt?) -> UploadedFile {
    // A chunk that is not what its checksum says never moves the offset (checksum extension, 460).
    let checks = Tus.checksum(session).map { [Verification("\($0.name) of each chunk", .server, .match)] }
    return UploadedFile(remoteID: session?.id, checks: checks ?? [])
  }

  package func abort(_ session: RemoteSession) -> Request? {
    if let told = session.facts["extensions"], !told.split(separator: ",").contains("termination") {
      return nil
    }
    return request("DELETE", session)
  }

  /// A name stands for nothing: every creation is a new upload.
  package func look() -> Request? { nil }

  package func readback(_ file: UploadedFile) -> (any DownloadProtocol)? {
    file.remoteID.flatMap { WebURL($0) }.map { TusDownload(url: $0, endpoint: url) }
  }

  package func inspect(_ file: UploadedFile) -> Request? {
    file.remoteID.map { request("HEAD", RemoteSession(id: $0, chunkSize: 1)) }
  }

  package func inspected(_ response: Response, now: Double) -> Result<RemoteObject, Failure> {
    guard (200...299).contains(response.status),
      let offset = response.headers["Upload-Offset"].flatMap({ ByteCount.read($0) })
    else { return .failure(refusal(response, doing: "look at the upload", now: now)) }
    var object = RemoteObject()
    object.size = offset
    return .success(object)
  }

  package func refusal(_ response: Response, doing what: String, now: Double) -> Failure {
    Tus.refusal(response, doing: what, now: now)
  }

  private func expired(_ response: Response, _ what: String, _ now: Double) -> Failure {
    var failure = refusal(response, doing: what, now: now)
    failure.code = .sessionExpired
    return failure
  }

  private func violation(_ response: Response, _ what: String) -> Failure {
    Failure(.protocolViolation, "\(response.url) \(what)", httpStatus: response.status)
  }
}
