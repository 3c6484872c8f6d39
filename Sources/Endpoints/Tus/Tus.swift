package import JobModel

/// What all requests of tus 1.0.0 share.
package enum Tus {
  package static let version = "1.0.0"

  /// Upload-Checksum's names for digests, the one that we would rather have first. Every server with the extension
  /// knows `sha1`.
  package static let checksums: [(name: String, digest: DigestAlgorithm)] = [
    ("sha256", .sha256), ("sha512", .sha512), ("sha1", .sha1), ("md5", .md5),
  ]

  /// The checksum that goes with a session's chunks; nil where the server did not offer the extension.
  package static func checksum(_ session: RemoteSession?) -> (name: String, digest: DigestAlgorithm)? {
    checksums.first { $0.name == session?.facts["checksum"] }
  }

  /// Upload-Expires in seconds since 1970 (expiration extension).
  package static func expiry(_ headers: HeaderList) -> Double? {
    headers["Upload-Expires"].flatMap(HTTPDate.seconds)
  }

  package static func refusal(_ response: Response, doing what: String, now: Double) -> Failure {
    var failure = HTTPFailure.of(response, doing: what, now: now)
    switch response.status {
    case 409:
      failure.code = .chunkConflict
      failure.message += ": the upload is at another offset"
    case 412:
      let versions = response.headers.combined("Tus-Version") ?? "another version"
      failure.message += ": the server speaks tus \(versions), haul speaks \(version)"
    case 413: failure.message += ": the file is larger than the server takes"
    // Another request holds the upload, one that broke off for instance; servers use WebDAV's word for it.
    case 423: failure.code = .serverError
    // Checksum Mismatch: the chunk was thrown away (checksum extension).
    case 460: failure.code = .integrityMismatch
    default: break
    }
    return failure
  }
}
