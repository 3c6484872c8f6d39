package import JobModel

/// Copies that S3 makes by itself: `CopyObject` of a whole object, `UploadPartCopy` of its parts (docs.aws.amazon.com/
/// AmazonS3/latest/API/API_CopyObject.html, API_UploadPartCopy.html). Every request names the source's version
/// (`x-amz-copy-source-if-match`), so that a copy is of one version or refused.
///
/// All but opening an upload, its bodies and their answers is as of an upload.
package struct S3ServiceCopy: UploadProtocol {
  /// `CopyObject` takes no more, in bytes.
  private static let mostAtOnce: Int64 = 5 << 30

  private let upload: S3Upload
  /// Without checksums: those of parts are the service's own.
  private let unchecked: S3Upload
  private let settings: S3Settings
  private let sourceBucket: String
  private let sourceKey: String

  package init(
    of key: String, in bucket: String, to path: String, address: S3Address, settings: S3Settings
  ) {
    (sourceBucket, sourceKey, self.settings) = (bucket, key, settings)
    upload = S3Upload(address: address, settings: settings, key: path)
    var bare = settings
    bare.checksum = .none
    unchecked = S3Upload(address: address, settings: bare, key: path)
  }

  package var url: WebURL { upload.url }
  package var followsRedirects: Bool { upload.followsRedirects }

  package var abilities: UploadAbilities {
    UploadAbilities(
      resumes: true, order: .any, fileDigests: upload.proof, minimumChunk: 5 << 20, maximumChunk: 5 << 30,
      maximumChunks: 10_000, emptyFile: .oneEmptyChunk)
  }

  // MARK: Requests of its own

  /// Also where nothing may stand at the destination: stores keep to that condition when an upload is completed, and few of
  /// them when an object is copied.
  private func takesParts(_ source: UploadSource) -> Bool {
    source.size > 0 && (source.mustBeNew || source.size > source.chunkSize || source.size > Self.mostAtOnce)
  }

  package func open(_ source: UploadSource, renewing old: RemoteSession?) -> Request? {
    guard takesParts(source) else { return nil }
    var headers = S3ObjectHeaders.of(settings, source)
    if settings.checksum == .crc64nvme {
      headers.append("x-amz-checksum-algorithm", "CRC64NVME")
      headers.append("x-amz-checksum-type", "FULL_OBJECT")
    }
    headers.append("x-amz-content-sha256", S3Payload.empty)
    return Request("POST", upload.place("uploads="), headers: headers)
  }

  package func put(_ chunk: UploadChunk, session: RemoteSession?, source: UploadSource) -> Request {
    var headers = session == nil ? objectHeaders(source) : HeaderList()
    headers.append("x-amz-copy-source", place(of: source.copies))
    if let object = source.copies, object.hasStrongETag, let etag = object.etag {
      headers.append("x-amz-copy-source-if-match", etag)
    }
    // A range is refused of an object under 5 MiB.
    if session != nil, chunk.range != 0..<source.size {
      headers.append(
        "x-amz-copy-source-range", "bytes=\(chunk.range.lowerBound)-\(chunk.range.upperBound - 1)")
    }
    headers.append("x-amz-content-sha256", S3Payload.empty)
    let target =
      session.map { upload.place("partNumber=\(chunk.index + 1)&" + upload.id($0)) } ?? upload.url
    return Request("PUT", target, headers: headers, body: .bytes([]))
  }

  /// `/bucket/key`, and the version where another one has the name.
  private func place(of object: RemoteObject?) -> String {
    let path = "/" + WebURL.encode(sourceBucket, keepingSlash: false) + "/" + WebURL.encode(sourceKey)
    guard let object, object.isPinned, let version = object.version else { return path }
    return path + "?versionId=" + WebURL.encode(version, keepingSlash: false)
  }

  /// What describes the object is said, as of an upload: what goes along from the source, and what the manifest says over it.
  private func objectHeaders(_ source: UploadSource) -> HeaderList {
    var headers = S3ObjectHeaders.of(settings, source)
    headers.append("x-amz-metadata-directive", "REPLACE")
    headers.append("x-amz-tagging-directive", "REPLACE")
    if let algorithm = checksum(of: source.copies) { headers.append("x-amz-checksum-algorithm", algorithm) }
    return headers
  }

  /// The checksum to ask for; nil where the source has another one, which the copy is compared by.
  private func checksum(of object: RemoteObject?) -> String? {
    let known = object?.digests ?? [:]
    guard let algorithm = upload.proof.first, known.isEmpty || known[algorithm] != nil else { return nil }
    return algorithm.rawValue.uppercased()
  }

  package func accepted(
    _ response: Response, chunk: UploadChunk, now: Double
  ) -> Result<ChunkReceipt, Failure> {
    guard (200...299).contains(response.status), !refuses(response) else {
      return .failure(refused(response, chunk, now))
    }
    // A store that does not know the header has stored an empty object or part, and says nothing of a copy.
    guard let root = XMLTree.read(response.body), root.name.hasPrefix("Copy"), let etag = root["ETag"],
      !ETag.bare(etag).isEmpty
    else {
      return .failure(
        Failure(
          .protocolViolation, "\(response.url) was asked to copy, and did not say that it has",
          class: .permanent, httpStatus: response.status))
    }
    let version = response.headers["x-amz-version-id"].flatMap { $0 == "null" ? nil : $0 }
    return .success(
      ChunkReceipt(token: ETag.bare(etag), version: version, digests: S3Checksums.read(root)))
  }

  private func refused(_ response: Response, _ chunk: UploadChunk, _ now: Double) -> Failure {
    var failure = refusal(response, doing: "copy `\(sourceBucket)/\(sourceKey)`", now: now)
    failure.chunk = chunk.index
    if failure.code == .chunkConflict { failure.code = .serverError }
    if S3Error.error(in: response)?["Code"] == "NoSuchVersion" {
      return Failure(
        .remoteChanged, "the version of `\(sourceBucket)/\(sourceKey)` that was begun with is gone",
        class: .sourceChanged, httpStatus: response.status)
    }
    guard response.status == 412 || failure.code == .destinationExists else { return failure }
    // The only condition is the source's.
    return Failure(
      .remoteChanged, "`\(sourceBucket)/\(sourceKey)` changed while it was copied", class: .sourceChanged,
      httpStatus: response.status)
  }

  // MARK: As of an upload

  package func opened(
    _ response: Response, source: UploadSource, now: Double
  ) -> Result<RemoteSession, Failure> { upload.opened(response, source: source, now: now) }
  package func reduced(_ source: UploadSource, after response: Response) -> UploadSource? {
    upload.reduced(source, after: response)
  }
  package func listSessions() -> Request? { upload.listSessions() }
  package func listedSessions(_ response: Response, now: Double) -> Result<[OpenSession], Failure> {
    upload.listedSessions(response, now: now)
  }
  package func query(_ session: RemoteSession, after page: SessionHoldings?) -> Request? {
    upload.query(session, after: page)
  }
  package func queried(
    _ response: Response, session: RemoteSession, source: UploadSource, now: Double
  ) -> Result<SessionHoldings, Failure> {
    upload.queried(response, session: session, source: source, now: now)
  }
  package func finalize(_ session: RemoteSession, source: UploadSource, chunks: [ChunkRecord]) -> Request? {
    unchecked.finalize(session, source: source, chunks: chunks)
  }
  package func finalized(
    _ response: Response, session: RemoteSession, source: UploadSource, chunks: [ChunkRecord], now: Double
  ) -> Result<UploadedFile, Failure> {
    unchecked.finalized(response, session: session, source: source, chunks: chunks, now: now)
  }
  package func abort(_ session: RemoteSession) -> Request? { upload.abort(session) }
  package var mayOutliveItsEnd: Bool { upload.mayOutliveItsEnd }
  package var closesByReceipts: Bool { upload.closesByReceipts }
  package func closed(_ session: RemoteSession?, receipt: ChunkReceipt?) -> UploadedFile {
    upload.closed(session, receipt: receipt)
  }
  package func file(_ object: RemoteObject) -> UploadedFile { upload.file(object) }
  package func matches(_ object: RemoteObject, session: RemoteSession, chunks: [ChunkRecord]) -> Bool {
    upload.matches(object, session: session, chunks: chunks)
  }
  package func look() -> Request? { upload.look() }
  package func readback(_ file: UploadedFile) -> (any DownloadProtocol)? { upload.readback(file) }
  package func inspect(_ file: UploadedFile) -> Request? { upload.inspect(file) }
  package func inspected(_ response: Response, now: Double) -> Result<RemoteObject, Failure> {
    upload.inspected(response, now: now)
  }
  package var etagsMayBeMD5: Bool { upload.etagsMayBeMD5 }
  package var looksBeforeItsEnd: Bool { upload.looksBeforeItsEnd }
  package func refuses(_ response: Response) -> Bool { upload.refuses(response) }
  package func question(after response: Response, to request: Request) -> Request? {
    upload.question(after: response, to: request)
  }
  package func refusal(_ response: Response, doing what: String, now: Double) -> Failure {
    upload.refusal(response, doing: what, now: now)
  }
}
