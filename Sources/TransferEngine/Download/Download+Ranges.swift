import JobLedger
import JobModel
import Protocols

/// Digests that a server gives of ranges (RFC 9530, Content-Digest): where the whole file came out wrong, they find the
/// chunks that are, and prove each that is fetched again. Where all is well they are neither asked for nor computed.
extension Download {
  /// Bytes that are asked about at once: few questions, and none that a server has to hash for long.
  private static var widest: Int64 { 128 << 20 }

  /// The chunks whose bytes here are not those there; nil where the server gives no digests of ranges.
  func rangesThatDiffer(of size: Int64) async throws -> [Range<Int64>]? {
    guard !isSingleStream, object.rangeValidator != nil || object.version != nil, size > chunkSize,
      try await promise(of: 0..<chunkSize) != nil
    else { return nil }
    let step = max(1, Self.widest / chunkSize) * chunkSize
    var open = stride(from: 0, to: size, by: Int(step)).map { $0..<min(size, $0 + step) }
    var found: [Range<Int64>] = []
    while let range = open.popLast() {
      if let told = try await promise(of: range), try await hash(range, told.algorithm) == told.digest {
        continue
      }
      let chunks = (Int64(range.count) + chunkSize - 1) / chunkSize
      guard chunks > 1 else {
        found.append(range)
        continue
      }
      let middle = range.lowerBound + chunks / 2 * chunkSize
      open += [range.lowerBound..<middle, middle..<range.upperBound]
    }
    return found
  }

  /// What the server says of a range; the answer ends with its head.
  private func promise(of range: Range<Int64>) async throws -> (algorithm: DigestAlgorithm, digest: String)? {
    var request = remote.get(range, of: object)
    request.headers.append(DigestHeaders.contentWish.name, DigestHeaders.contentWish.value)
    let head = try await head(of: request, readsBody: false).head
    let now = context.clock.now()
    let answer = remote.judge(
      head, wanted: range, object: object, seen: remote.facts(head, now: now), now: now)
    return answer == .bytes(range) ? DigestHeaders.content(head) : nil
  }

  private func hash(_ range: Range<Int64>, _ algorithm: DigestAlgorithm) async throws -> String? {
    guard let part else { return nil }
    return try await context.pool.run { try ChunkDigests.of(range, of: part.file, [algorithm]) }[algorithm]
  }

  /// The request for a range, or for everything; for a digest too, once a mismatch has shown the need of one.
  func provable(_ wanted: Range<Int64>?) -> Request {
    var request = remote.get(wanted, of: object)
    if provesRanges, wanted != nil {
      request.headers.append(DigestHeaders.contentWish.name, DigestHeaders.contentWish.value)
    }
    return request
  }

  /// Takes in what an answer says of its own bytes, where nothing will prove the whole, or where that has failed.
  func noted(_ head: AnswerHead, _ proof: RangeProof) -> AnswerHead {
    let nothingElse = expect.digests.isEmpty && object.digests.isEmpty && settings.verify != .size
    if head.status == 206, provesRanges || nothingElse { proof.promise = DigestHeaders.content(head) }
    return head
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
    guard found == promise.digest else {
      discard(range)
      throw Failure(
        .integrityMismatch,
        "\(remote.url): bytes \(range.lowerBound)-\(range.upperBound - 1) arrived with another \(promise.algorithm.rawValue) than they were sent with",
        chunk: Int(range.lowerBound / chunkSize), expected: promise.digest, actual: found)
    }
    for chunk in chunks { received(chunk) }
  }

  /// What came before a connection broke can't be proved by the digest of all of it: the whole file's will.
  func acceptUnproved(_ proof: RangeProof) {
    for chunk in proof.takeAll() { received(chunk) }
  }

  private func discard(_ range: Range<Int64>) {
    // It may have seen bytes that will come again.
    digest = nil
    book.progress.discarded += Int64(range.count)
    live.add(-Int64(range.count))
  }
}
