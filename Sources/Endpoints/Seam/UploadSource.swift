package import JobModel

/// The file that is uploaded, as far as requests speak of it.
package struct UploadSource: Sendable, Hashable {
  package var size: Int64
  package var contentType: String
  /// Bytes a chunk that we would like.
  package var chunkSize: Int64
  /// Whole-file digests, lower-case hex, as far as they are known by now.
  package var digests: [DigestAlgorithm: String]
  package var fingerprint: String?
  /// The fingerprint over the transfer's id and the samples, for protocols that ask for it (`namesContent`).
  package var contentName: String?
  /// Nothing may stand at the destination yet (`if_exists: fail`, `keep`).
  package var mustBeNew: Bool
  /// The same for every try to open one session, also after a kill: a server that keeps to it opens one only
  /// (draft-ietf-httpapi-idempotency-key-header).
  package var key: String?
  /// What goes along from the source.
  package var preserved = ObjectAttributes()
  /// What the transfer itself says of the object.
  package var given = GivenAttributes()
  /// Attributes whose loss fails the transfer: not left out where the store refuses them.
  package var demanded: Set<Attribute> = []
  /// Of a copy that the service makes by itself: the version of its own object that it copies.
  package var copies: RemoteObject?
  /// When the source was last written, whole seconds since 1970, and its permissions, for kinds that always keep them.
  package var modified: Double?
  package var mode: UInt32?

  package init(
    size: Int64, contentType: String, chunkSize: Int64, digests: [DigestAlgorithm: String] = [:],
    fingerprint: String? = nil, contentName: String? = nil, mustBeNew: Bool = false
  ) {
    self.size = size
    self.contentType = contentType
    self.chunkSize = chunkSize
    self.digests = digests
    self.fingerprint = fingerprint
    self.contentName = contentName
    self.mustBeNew = mustBeNew
  }
}

/// A range of the source, sent by one request.
package struct UploadChunk: Sendable, Hashable {
  package var index: Int
  package var range: Range<Int64>
  /// Lower-case hex, one for each of the protocol's `chunkDigests`.
  package var digests: [DigestAlgorithm: String]
  /// The URL that the server handed out for it.
  package var partURL: WebURL?

  package init(
    index: Int, range: Range<Int64>, digests: [DigestAlgorithm: String] = [:], partURL: WebURL? = nil
  ) {
    self.index = index
    self.range = range
    self.digests = digests
    self.partURL = partURL
  }
}
