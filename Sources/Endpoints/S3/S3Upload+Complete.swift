import Digests
package import JobModel

/// Closing a multipart upload (docs.aws.amazon.com/AmazonS3/latest/API/API_CompleteMultipartUpload.html).
extension S3Upload {
  package func finalize(_ session: RemoteSession, source: UploadSource, chunks: [ChunkRecord]) -> Request? {
    var text = "<CompleteMultipartUpload xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\">"
    for (number, chunk) in numbered(chunks, session) {
      text += "<Part><PartNumber>\(number)</PartNumber>"
      text += "<ETag>\(XMLTree.escape("\"\(chunk.receipt ?? "")\""))</ETag>"
      if settings.checksum == .sha256, let digest = S3Checksums.base64(chunk.digest) {
        text += "<ChecksumSHA256>\(digest)</ChecksumSHA256>"
      }
      text += "</Part>"
    }
    text += "</CompleteMultipartUpload>"
    let body = Array(text.utf8)
    var headers: HeaderList = [
      "Content-Type": "application/xml", "x-amz-content-sha256": S3Payload.digest(body),
      "x-amz-mp-object-size": String(source.size),
    ]
    if settings.checksum == .crc64nvme, let whole = source.digests[.crc64nvme].flatMap(S3Checksums.base64) {
      headers.append(S3Checksums.header(.crc64nvme), whole)
      headers.append("x-amz-checksum-type", "FULL_OBJECT")
    }
    if source.mustBeNew { headers.append("If-None-Match", "*") }
    return Request("POST", place(id(session)), headers: headers, body: .bytes(body))
  }

  package func finalized(
    _ response: Response, session: RemoteSession, source: UploadSource, chunks: [ChunkRecord], now: Double
  ) -> Result<UploadedFile, Failure> {
    let what = "complete the upload"
    guard response.status == 200, !refuses(response) else {
      let failure = refusal(response, doing: what, now: now)
      // What another writer's conflict has refused is refused for good: only a new upload can be completed.
      if response.status == 409 { return .failure(failure.classed(.sessionGone)) }
      return refused(response, what, now)
    }
    guard let root = XMLTree.read(response.body) else {
      return .failure(violation("\(response.url) completed an upload without saying so", response))
    }
    var file = UploadedFile(
      remoteID: remoteID, version: response.headers["x-amz-version-id"].flatMap { $0 == "null" ? nil : $0 },
      etag: root["ETag"], digests: S3Checksums.read(root))
    file.checks = checks(S3Checksums.composite(root["ChecksumSHA256"]), chunks)
    return .success(file)
  }

  package func checks(
    _ response: Response, source: UploadSource, chunks: [ChunkRecord]
  ) -> [Verification] {
    guard
      response.headers["x-amz-checksum-sha256"]?.contains("-") == true
        || S3Checksums.isComposite(response.headers["x-amz-checksum-type"])
    else { return [] }
    return checks(S3Checksums.composite(response.headers["x-amz-checksum-sha256"]), chunks)
  }

  package func matches(_ object: RemoteObject, session: RemoteSession, chunks: [ChunkRecord]) -> Bool {
    guard let etag = object.etag, !chunks.isEmpty else { return false }
    var sums: [UInt8] = []
    for (_, chunk) in numbered(chunks, session) {
      guard let sum = chunk.receipt.flatMap(Hex.decode), sum.count == 16 else { return false }
      sums += sum
    }
    guard let whole = try? Digest.hex(of: sums, .md5) else { return false }
    return ETag.bare(etag) == "\(whole)-\(chunks.count)"
  }

  /// The SHA-256 of the parts' SHA-256s, theirs against ours.
  private func checks(_ theirs: String?, _ chunks: [ChunkRecord]) -> [Verification] {
    guard settings.checksum == .sha256, let theirs, !chunks.isEmpty else { return [] }
    var digests: [UInt8] = []
    for chunk in chunks.sorted(by: { $0.offset < $1.offset }) {
      guard let digest = Hex.decode(chunk.digest), digest.count == 32 else { return [] }
      digests += digest
    }
    guard let ours = try? Digest.hex(of: digests, .sha256) else { return [] }
    return [Verification("sha256-of-parts", .server, ours == theirs ? .match : .mismatch)]
  }

  private func numbered(_ chunks: [ChunkRecord], _ session: RemoteSession) -> [(Int, ChunkRecord)] {
    chunks.sorted { $0.offset < $1.offset }.map { (Int($0.offset / max(1, session.chunkSize)) + 1, $0) }
  }
}
