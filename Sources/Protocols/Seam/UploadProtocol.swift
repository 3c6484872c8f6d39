package import JobModel

/// How a protocol sends one file. A value: requests out, meanings in, no I/O.
package protocol UploadProtocol: Sendable {
  var abilities: UploadAbilities { get }
  /// Where the file goes, for the report.
  var url: WebURL { get }
  /// Opens a session; nil where the protocol has none.
  func open(_ source: UploadSource, renewing old: RemoteSession?) -> Request?
  func opened(_ answer: Answer, source: UploadSource, now: Double) -> Verdict<RemoteSession>
  /// Asks what the session holds; nil where the server can't say.
  func query(_ session: RemoteSession) -> Request?
  func queried(_ answer: Answer, session: RemoteSession, source: UploadSource, now: Double)
    -> Verdict<SessionHoldings>
  func put(_ chunk: UploadChunk, session: RemoteSession?, source: UploadSource) -> Request
  func accepted(_ answer: Answer, chunk: UploadChunk, now: Double) -> Verdict<ChunkReceipt>
  /// Closes the session; nil where the last chunk does that.
  func finalize(_ session: RemoteSession, source: UploadSource, chunks: [ChunkRecord]) -> Request?
  func finalized(_ answer: Answer, now: Double) -> Verdict<UploadedFile>
  func abort(_ session: RemoteSession) -> Request?
  /// Looks at whatever stands at the destination; nil where that can't be asked.
  func look() -> Request?
  /// Reads a finished file back; nil where that can't be done.
  func readback(_ file: UploadedFile) -> (any DownloadProtocol)?
  /// Looks at the finished file; nil where there is nothing to look at.
  func inspect(_ file: UploadedFile) -> Request?
  func inspected(_ answer: Answer, now: Double) -> Verdict<RemoteObject>
}

/// What a protocol can do, shown by `plan` and the report.
package struct UploadAbilities: Sendable, Hashable {
  /// An interrupted upload goes on where it stopped.
  package var resumes: Bool
  /// Chunks may be sent in any order and at the same time.
  package var isParallel: Bool
  /// Each chunk's SHA-256 goes before its body.
  package var hashesChunks: Bool
  /// The server computes a whole-file digest that we can compare.
  package var provesWholeFile: Bool
  /// Bytes; chunk sizes are raised to it.
  package var minimumChunk: Int64
  package var maximumChunks: Int?
  package var emptyFile: EmptyFile

  package enum EmptyFile: Sendable, Hashable { case noChunks, oneEmptyChunk, refused }

  package init(
    resumes: Bool, isParallel: Bool, hashesChunks: Bool, provesWholeFile: Bool, minimumChunk: Int64 = 1,
    maximumChunks: Int? = nil, emptyFile: EmptyFile
  ) {
    self.resumes = resumes
    self.isParallel = isParallel
    self.hashesChunks = hashesChunks
    self.provesWholeFile = provesWholeFile
    self.minimumChunk = minimumChunk
    self.maximumChunks = maximumChunks
    self.emptyFile = emptyFile
  }
}

/// The file that is uploaded, as far as requests speak of it.
package struct UploadSource: Sendable, Hashable {
  package var size: Int64
  package var contentType: String
  /// Bytes a chunk that we would like.
  package var chunkSize: Int64
  /// Lower-case hex, where it is known by now.
  package var sha256: String?
  package var fingerprint: String?

  package init(
    size: Int64, contentType: String, chunkSize: Int64, sha256: String? = nil, fingerprint: String? = nil
  ) {
    self.size = size
    self.contentType = contentType
    self.chunkSize = chunkSize
    self.sha256 = sha256
    self.fingerprint = fingerprint
  }
}

package struct UploadChunk: Sendable, Hashable {
  package var index: Int
  package var range: Range<Int64>
  /// Lower-case hex.
  package var sha256: String?

  package init(index: Int, range: Range<Int64>, sha256: String? = nil) {
    self.index = index
    self.range = range
    self.sha256 = sha256
  }
}

/// What a session holds by the server's own word.
package struct SessionHoldings: Sendable, Hashable {
  package var chunks: Set<Int>
  package var expiresAt: Double?
  /// The session is closed already: an answer to finalize was lost.
  package var finished: UploadedFile?

  package init(chunks: Set<Int>, expiresAt: Double? = nil, finished: UploadedFile? = nil) {
    self.chunks = chunks
    self.expiresAt = expiresAt
    self.finished = finished
  }
}

package struct ChunkReceipt: Sendable, Hashable {
  package var token: String?
  package init(token: String? = nil) { self.token = token }
}

package struct UploadedFile: Sendable, Hashable {
  package var remoteID: String?
  package var version: String?
  package var etag: String?
  package var digests: [DigestAlgorithm: String]

  package init(
    remoteID: String? = nil, version: String? = nil, etag: String? = nil,
    digests: [DigestAlgorithm: String] = [:]
  ) {
    self.remoteID = remoteID
    self.version = version
    self.etag = etag
    self.digests = digests
  }
}
