package import JobModel

/// What a protocol can do, shown by `plan` and the report.
package struct UploadAbilities: Sendable, Hashable {
  package enum Order: Sendable, Hashable {
    /// Chunks may be sent in any order and at the same time.
    case any
    /// One after the other, whole chunks.
    case sequential
    /// One after the other from the byte that the server names, which may lie within a chunk.
    case byOffset
  }

  /// An interrupted upload goes on where it stopped.
  package var resumes: Bool
  package var order: Order
  /// Digests of a chunk that go before its body. The first is recorded with the chunk.
  package var chunkDigests: [DigestAlgorithm]
  /// Digests of the whole file that the server's word can be compared with.
  package var fileDigests: Set<DigestAlgorithm>
  /// A new session can hold what an expiring one held.
  package var renewsSessions: Bool
  /// Bytes; chunk sizes are raised to it.
  package var minimumChunk: Int64
  /// Bytes; chunk sizes are lowered to it.
  package var maximumChunk: Int64?
  package var maximumChunks: Int?
  /// How many chunks' URLs are asked for at once.
  package var partURLBatch: Int
  /// A session is opened with the fingerprint of the transfer's id and the content (`UploadSource.contentName`).
  package var namesContent: Bool
  package var emptyFile: EmptyFile

  package enum EmptyFile: Sendable, Hashable { case noChunks, oneEmptyChunk, refused }

  package init(
    resumes: Bool, order: Order, chunkDigests: [DigestAlgorithm] = [],
    fileDigests: Set<DigestAlgorithm> = [], renewsSessions: Bool = false, minimumChunk: Int64 = 1,
    maximumChunk: Int64? = nil, maximumChunks: Int? = nil, partURLBatch: Int = 1,
    namesContent: Bool = false, emptyFile: EmptyFile
  ) {
    self.resumes = resumes
    self.order = order
    self.chunkDigests = chunkDigests
    self.fileDigests = fileDigests
    self.renewsSessions = renewsSessions
    self.minimumChunk = minimumChunk
    self.maximumChunk = maximumChunk
    self.maximumChunks = maximumChunks
    self.partURLBatch = partURLBatch
    self.namesContent = namesContent
    self.emptyFile = emptyFile
  }

  package var isParallel: Bool { order == .any }

  /// A server's digest closes the proof; without one, recorded chunk digests have to.
  package var provesWholeFile: Bool { !fileDigests.isEmpty }

  /// Bytes a chunk that this protocol takes for a file, nearest to those wanted.
  package func chunkSize(wanted: Int64, of size: Int64) -> Int64 {
    var chunk = max(1, wanted, min(minimumChunk, max(1, size)))
    if let most = maximumChunks, most > 0, (size - 1) / chunk >= Int64(most) {
      let mebibyte: Int64 = 1 << 20
      let least = (size - 1) / Int64(most) + 1
      chunk = (least + mebibyte - 1) / mebibyte * mebibyte
    }
    return min(ChunkLayout.largestChunk, maximumChunk ?? .max, chunk)
  }
}
