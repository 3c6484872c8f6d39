package import JobModel

/// Uploads to S3: one PUT below the threshold, parts above it (docs.aws.amazon.com/AmazonS3/latest/userguide/
/// mpuoverview.html). Bodies are signed; checksums go with the request and are compared with the answer's.
package struct S3Upload: UploadProtocol {
  package let url: WebURL
  let key: String
  let settings: S3Settings
  private let address: S3Address

  /// The bucket itself, for listings.
  var root: WebURL { address.root }

  package init(address: S3Address, settings: S3Settings, key: String) {
    url = address.url(key)
    self.key = key
    self.settings = settings
    self.address = address
  }

  package var followsRedirects: Bool { false }

  package var abilities: UploadAbilities { abilities(of: nil) }

  package func abilities(of size: Int64?) -> UploadAbilities {
    var digests: [DigestAlgorithm] = [.sha256]
    if settings.checksum == .crc64nvme { digests.append(.crc64nvme) }
    guard size.map(takesParts) ?? true else {
      return UploadAbilities(
        resumes: false, order: .sequential, chunkDigests: digests, fileDigests: proof, minimumChunk: .max,
        emptyFile: .oneEmptyChunk)
    }
    // A SHA-256 of parts is a digest of digests: that one is compared by `finalized`, not as the file's.
    return UploadAbilities(
      resumes: true, order: .any, chunkDigests: digests,
      fileDigests: settings.checksum == .sha256 ? [] : proof,
      minimumChunk: 5 << 20, maximumChunk: 5 << 30, maximumChunks: Self.mostParts, emptyFile: .oneEmptyChunk)
  }

  /// docs.aws.amazon.com/AmazonS3/latest/userguide/qfacts.html
  private static let mostParts = 10_000

  var proof: Set<DigestAlgorithm> {
    switch settings.checksum {
    case .crc64nvme: [.crc64nvme]
    case .sha256: [.sha256]
    case .none: []
    }
  }

  /// A single PUT takes 5 GiB at most; an empty file has no parts.
  private func takesParts(_ size: Int64) -> Bool {
    size > 0 && (size >= settings.multipartThreshold || size > 5 << 30)
  }

  package func open(_ source: UploadSource, renewing old: RemoteSession?) -> Request? {
    guard takesParts(source.size) else { return nil }
    var headers = S3ObjectHeaders.of(settings, source)
    switch settings.checksum {
    case .crc64nvme:
      headers.append("x-amz-checksum-algorithm", "CRC64NVME")
      headers.append("x-amz-checksum-type", "FULL_OBJECT")
    case .sha256:
      headers.append("x-amz-checksum-algorithm", "SHA256")
      headers.append("x-amz-checksum-type", "COMPOSITE")
    case .none: break
    }
    headers.append("x-amz-content-sha256", S3Payload.empty)
    return Request("POST", place("uploads="), headers: headers)
  }

  package func opened(_ response: Response, source: UploadSource, now: Double) -> Result<
    RemoteSession, Failure
  > {
    guard response.status == 200, !refuses(response) else {
      return refused(response, "open a multipart upload", now)
    }
    guard let id = XMLTree.read(response.body)?["UploadId"], !id.isEmpty else {
      return .failure(violation("\(response.url) opened an upload without an UploadId", response))
    }
    let expiry = response.headers["x-amz-abort-date"].flatMap(HTTPDate.seconds)
    return .success(RemoteSession(id: id, chunkSize: source.chunkSize, expiresAt: expiry))
  }

  package func query(_ session: RemoteSession, after page: SessionHoldings?) -> Request? {
    let after = page?.nextPage.map { "&part-number-marker=" + WebURL.encode($0, keepingSlash: false) } ?? ""
    return Request(
      "GET", place("max-parts=1000\(after)&" + id(session)),
      headers: ["x-amz-content-sha256": S3Payload.empty])
  }

  package func queried(_ response: Response, session: RemoteSession, source: UploadSource, now: Double)
    -> Result<SessionHoldings, Failure>
  {
    guard response.status == 200, !refuses(response) else { return refused(response, "list the parts", now) }
    guard let root = XMLTree.read(response.body), S3List.isOne(root, of: "Part") else {
      return .failure(violation("\(response.url) did not answer with a list of parts", response))
    }
    var holdings = SessionHoldings()
    for part in root.all("Part") {
      // Others, which nobody sends, would fill the memory page after page.
      guard let number = part["PartNumber"].flatMap({ Int($0) }), (1...Self.mostParts).contains(number) else {
        continue
      }
      holdings.chunks[number - 1] = HeldChunk(
        size: part["Size"].flatMap { ByteCount.read($0) }, receipt: part["ETag"].map(ETag.bare),
        digests: S3Checksums.read(part))
    }
    if S3List.isCut(root) {
      guard let next = root["NextPartNumberMarker"], !next.isEmpty else {
        return .failure(
          violation("\(response.url) cut its list of parts and gave no mark to go on from", response))
      }
      holdings.nextPage = next
    }
    return .success(holdings)
  }

  package func put(_ chunk: UploadChunk, session: RemoteSession?, source: UploadSource) -> Request {
    var headers = session == nil ? S3ObjectHeaders.of(settings, source) : HeaderList()
    if session == nil, source.mustBeNew { headers.append("If-None-Match", "*") }
    headers.append("x-amz-content-sha256", chunk.digests[.sha256] ?? SigV4.unsignedPayload)
    for algorithm in proof {
      guard let value = chunk.digests[algorithm].flatMap(S3Checksums.base64) else { continue }
      headers.append(S3Checksums.header(algorithm), value)
    }
    if let sum = chunk.digests[.md5].flatMap(S3Checksums.base64) { headers.append("Content-MD5", sum) }
    let target = session.map { place("partNumber=\(chunk.index + 1)&" + id($0)) } ?? url
    return Request("PUT", target, headers: headers, body: .source(chunk.range))
  }

  package func accepted(_ response: Response, chunk: UploadChunk, now: Double) -> Result<
    ChunkReceipt, Failure
  > {
    guard (200...299).contains(response.status) else {
      switch refused(response, "send part \(chunk.index + 1)", now) as Result<ChunkReceipt, Failure> {
      case .failure(var failure):
        failure.chunk = chunk.index
        if failure.code == .chunkConflict { failure.code = .serverError }
        return .failure(failure)
      case .success(let receipt): return .success(receipt)
      }
    }
    guard let etag = response.headers["ETag"], !etag.isEmpty else {
      return .failure(violation("\(response.url) took a part and gave no ETag for it", response))
    }
    var version = response.headers["x-amz-version-id"]
    if version == "null" { version = nil }
    let digests = S3Checksums.read(response.headers)
    let isProved = digests.keys.contains { chunk.digests[$0] != nil }
    return .success(
      ChunkReceipt(
        token: ETag.bare(etag), version: version, digests: digests,
        likelyMD5: isProved ? nil : S3ETag.md5(response.headers, settings)))
  }

  package var mayOutliveItsEnd: Bool { true }
  package var closesByReceipts: Bool { true }

  package func abort(_ session: RemoteSession) -> Request? {
    Request("DELETE", place(id(session)), headers: ["x-amz-content-sha256": S3Payload.empty])
  }

  package func closed(_ session: RemoteSession?, receipt: ChunkReceipt?) -> UploadedFile {
    UploadedFile(
      remoteID: remoteID, version: receipt?.version, etag: receipt?.token.map { "\"\($0)\"" },
      digests: receipt?.digests ?? [:])
  }

  package func file(_ object: RemoteObject) -> UploadedFile {
    UploadedFile(
      remoteID: remoteID, version: object.version, etag: object.etag, digests: object.digests)
  }

  private var download: S3Download { S3Download(address: address, settings: settings, key: key) }

  package func look() -> Request? { download.probe() }
  package func readback(_ file: UploadedFile) -> (any DownloadProtocol)? { download }
  package func inspect(_ file: UploadedFile) -> Request? { download.probe() }
  package func inspected(_ response: Response, now: Double) -> Result<RemoteObject, Failure> {
    guard case .success(var object) = download.probed(response, now: now) else {
      return download.probed(response, now: now)
    }
    if let sum = S3ETag.md5(response.headers, settings) { object.digests[.md5] = sum }
    return .success(object)
  }
  package var echoes: Set<DigestAlgorithm> { proof }
  package var etagsMayBeMD5: Bool { true }
  package var looksBeforeItsEnd: Bool { true }

  /// A storage class is the other store's, and not each store, nor each credential, may tag.
  package func reduced(_ source: UploadSource, after response: Response) -> UploadSource? {
    guard refuses(response), let code = S3Error.error(in: response)?["Code"] else { return nil }
    var reduced = source
    if code == "InvalidStorageClass", source.given.storageClass == nil {
      reduced.preserved.storageClass = nil
    }
    if ["NotImplemented", "AccessDenied"].contains(code), !source.demanded.contains(.tags),
      settings.tags.isEmpty, source.given.tags.isEmpty
    {
      reduced.preserved.tags = nil
    }
    return reduced == source ? nil : reduced
  }

  package func refuses(_ response: Response) -> Bool {
    // Complete may answer 200 and say only in the body that it failed.
    response.status >= 300 || S3Error.error(in: response) != nil
  }

  /// That there is nothing yet is what a look is mostly told: no reason is asked for that.
  package func question(after response: Response, to request: Request) -> Request? {
    response.status == 404 ? nil : download.question(after: response, to: request)
  }

  package func refusal(_ response: Response, doing what: String, now: Double) -> Failure {
    S3Error.of(response, doing: what, settings: settings, now: now)
  }

  var remoteID: String { "\(settings.bucket)/\(key)" }

  func place(_ query: String) -> WebURL {
    var place = url
    place.query = query
    return place
  }

  func id(_ session: RemoteSession) -> String {
    "uploadId=" + WebURL.encode(session.id, keepingSlash: false)
  }

  func refused<Value>(_ response: Response, _ what: String, _ now: Double) -> Result<Value, Failure> {
    .failure(refusal(response, doing: what, now: now))
  }

  func violation(_ message: String, _ response: Response) -> Failure {
    Failure(.protocolViolation, message, httpStatus: response.status)
  }
}

/// ETags: the quotes around them come and go.
enum S3ETag {
  /// The ETag, where it may be the MD5 of the bytes: of what one request stored, not encrypted with KMS or a customer's
  /// key (docs.aws.amazon.com/AmazonS3/latest/API/API_Object.html).
  static func md5(_ headers: HeaderList, _ settings: S3Settings) -> String? {
    let encryption = headers["x-amz-server-side-encryption"] ?? settings.serverSideEncryption ?? ""
    guard !encryption.lowercased().hasPrefix("aws:kms"),
      headers["x-amz-server-side-encryption-customer-algorithm"] == nil,
      let etag = headers["ETag"].map(ETag.bare)?.lowercased(), etag.utf8.count == 32,
      etag.utf8.allSatisfy({ $0.isLowerHexDigit })
    else { return nil }
    return etag
  }

  /// As a header has it; nil for none.
  static func quoted(_ etag: String) -> String? {
    let bare = ETag.bare(etag)
    return bare.isEmpty ? nil : "\"\(bare)\""
  }
}
