import Endpoints
import JobLedger
import JobModel
import LocalFiles

/// Digests that a server gives of ranges (RFC 9530, Content-Digest): where a large file came out wrong, they find the
/// parts that are, and prove each chunk that is fetched again. Where all is well they are neither asked for nor computed.
extension Download {
  /// The ranges, of whole chunks, whose bytes here are not those there; nil where the server gives no digests of
  /// ranges, or where asking would cost about as much as fetching everything again.
  func rangesThatDiffer(of size: Int64) async throws -> [Range<Int64>]? {
    let search = DamageSearch(chunkSize: chunkSize)
    guard !isSingleStream, object.rangeValidator != nil || object.version != nil, search.isWorthIt(for: size)
    else { return nil }
    return try await search.ranges(of: size) { range in
      guard let told = try await source.digest(of: range, of: object) else { return .unknown }
      return try await hash(range, told.algorithm) == told.hex ? .same : .different
    }
  }

  private func hash(_ range: Range<Int64>, _ algorithm: DigestAlgorithm) async throws -> String? {
    guard let part = staged.part else { return nil }
    return try await context.pool.run { try ChunkDigests.of(range, of: part.file, [algorithm]) }[algorithm]
  }

  /// Nothing but answers' own digests can prove the bytes.
  private var hasNoDigest: Bool {
    expect.digests.isEmpty && object.digests.isEmpty && settings.verify != .size
  }

  /// Chunks that are asked for at once, at most. An answer that its own digest proves is recorded at its end: were it
  /// longer than a chunk, a kill would cost more than the chunks in flight.
  var longestRun: Int64 { provesRanges || hasNoDigest && givesRangeDigests != false ? 1 : 16 }

  /// Takes in what a source says of the bytes that it gives, where nothing will prove the whole, or where that has failed.
  func note(_ opening: Opening, _ proof: RangeProof) {
    guard case .bytes(let range) = opening.extent, provesRanges || hasNoDigest else { return }
    // Everything in one answer says nothing of how ranges are answered.
    if opening.digest == nil, range.lowerBound == 0, range.upperBound == opening.seen.size { return }
    proof.promise = opening.digest
    givesRangeDigests = proof.promise != nil
  }

  /// Records an answer's chunks if they are what it said; otherwise they are thrown away, and asked for again.
  func prove(_ proof: RangeProof) async throws {
    let chunks = proof.takeAll()
    guard let promise = proof.promise, let first = chunks.first, let last = chunks.last else { return }
    let range = first.offset..<last.range.upperBound
    let found: String?
    do { found = try await hash(range, promise.algorithm) } catch {
      discard(range)
      throw error
    }
    guard found == promise.hex else {
      discard(range)
      throw Failure(
        .integrityMismatch,
        "\(source.place): bytes \(range.lowerBound)-\(range.upperBound - 1) arrived with another \(promise.algorithm.rawValue) than they were sent with",
        chunk: Int(range.lowerBound / chunkSize), expected: promise.hex, actual: found)
    }
    for chunk in chunks { received(chunk) }
  }

  /// What came before a connection broke can't be proved by the digest of all of it: the whole file's will.
  func acceptUnproved(_ proof: RangeProof) {
    for chunk in proof.takeAll() { received(chunk) }
  }

  private func discard(_ range: Range<Int64>) {
    // It may have seen bytes that will come again.
    staged.forgetHash()
    book.note(.discarded(Int64(range.count)))
    live.add(-Int64(range.count))
  }
}
