package import JobModel

/// What a session holds by the server's own word.
package struct SessionHoldings: Sendable, Hashable {
  /// By index. For a protocol that counts bytes, see `offset`.
  package var chunks: [Int: HeldChunk]
  /// Bytes from the start that are there, for protocols of order `byOffset`.
  package var offset: Int64?
  /// Seconds since 1970.
  package var expiresAt: Double?
  /// The session is closed already: an answer to finalize was lost.
  package var finished: UploadedFile?
  /// There is more, behind this mark.
  package var nextPage: String?

  package init(
    chunks: [Int: HeldChunk] = [:], offset: Int64? = nil, expiresAt: Double? = nil,
    finished: UploadedFile? = nil, nextPage: String? = nil
  ) {
    self.chunks = chunks
    self.offset = offset
    self.expiresAt = expiresAt
    self.finished = finished
    self.nextPage = nextPage
  }
}

/// A chunk that the server holds, as far as it describes it.
package struct HeldChunk: Sendable, Hashable {
  /// Bytes.
  package var size: Int64?
  /// What the server gave for it when it took it, an ETag for instance.
  package var receipt: String?
  /// Lower-case hex.
  package var digests: [DigestAlgorithm: String]

  package init(size: Int64? = nil, receipt: String? = nil, digests: [DigestAlgorithm: String] = [:]) {
    self.size = size
    self.receipt = receipt
    self.digests = digests
  }
}

/// What the server said of a chunk that it took.
package struct ChunkReceipt: Sendable, Hashable {
  package var token: String?
  /// The version that a file has got which this chunk was all of.
  package var version: String?
  /// Digests of what the server took, where it tells them: compared with ours before the chunk counts.
  package var digests: [DigestAlgorithm: String]
  /// What may be the MD5 of what the server took, where no digest says what it took.
  package var likelyMD5: String?
  /// When the session ends now, in seconds since 1970; nil where the answer does not say.
  package var expiresAt: Double?
  package init(
    token: String? = nil, version: String? = nil, digests: [DigestAlgorithm: String] = [:],
    likelyMD5: String? = nil, expiresAt: Double? = nil
  ) {
    self.token = token
    self.version = version
    self.digests = digests
    self.likelyMD5 = likelyMD5
    self.expiresAt = expiresAt
  }
}

/// What the server said of a finished file.
package struct UploadedFile: Sendable, Hashable {
  package var remoteID: String?
  package var version: String?
  package var etag: String?
  /// Whole-file digests by the server's word; lower-case hex.
  package var digests: [DigestAlgorithm: String]
  /// Checks that the protocol made itself, of a digest of digests for instance.
  package var checks: [Verification]

  package init(
    remoteID: String? = nil, version: String? = nil, etag: String? = nil,
    digests: [DigestAlgorithm: String] = [:], checks: [Verification] = []
  ) {
    self.remoteID = remoteID
    self.version = version
    self.etag = etag
    self.digests = digests
    self.checks = checks
  }
}
