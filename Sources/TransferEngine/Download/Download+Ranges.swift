import Endpoints
import JobLedger
import JobModel

/// Digests that a server gives of ranges (RFC 9530, Content-Digest): where a large file came out wrong, they find the
/// parts that are, and prove each chunk that is fetched again. Where all is well they are neither asked for nor computed.
extension Download {
  /// Bytes that are asked about at once: few questions, and none that a server has to hash for long.
  private static var widest: Int64 { 128 << 20 }
  /// Bytes that are not worth another question. Before a server hears that nobody reads its answer it has sent what
  /// sockets take: on Linux up to 4 MiB (tcp(7), tcp_wmem) and what the receiver's buffer holds.
  private static var narrowest: Int64 { 16 << 20 }

  /// The ranges, of whole chunks, whose bytes here are not those there; nil where the server gives no digests of
  /// ranges, or where asking would cost about as much as fetching everything again.
  func rangesThatDiffer(of size: Int64) async throws -> [Range<Int64>]? {
    let least = (Self.narrowest + chunkSize - 1) / chunkSize * chunkSize
    guard !isSingleStream, object.rangeValidator != nil || object.version != nil, size >= 2 * least else {
      return nil
    }
    let step = max(1, Self.widest / least) * least
    var found: [Range<Int64>] = []
    for start in stride(from: 0, to: size, by: Int(step)) {
      let range = start..<min(size, start + step)
      let told = try await promise(of: range)
      if start == 0, told == nil { return nil }
      if try await matches(range, told) { continue }
      found += try await partsThatDiffer(in: range, least)
    }
    return found
  }

  /// The parts of a range that differs, which are not split below `least` bytes.
  private func partsThatDiffer(in range: Range<Int64>, _ least: Int64) async throws -> [Range<Int64>] {
    let parts = (Int64(range.count) + least - 1) / least
    guard parts > 1 else { return [range] }
    let middle = range.lowerBound + parts / 2 * least
    let (lower, upper) = (range.lowerBound..<middle, middle..<range.upperBound)
    // Where the one is right, the other is wrong: no question is needed.
    if try await matches(lower, promise(of: lower)) { return try await partsThatDiffer(in: upper, least) }
    let found = try await partsThatDiffer(in: lower, least)
    if try await matches(upper, promise(of: upper)) { return found }
    return try await found + partsThatDiffer(in: upper, least)
  }

  private func matches(
    _ range: Range<Int64>, _ told: (algorithm: DigestAlgorithm, digest: String)?
  ) async throws -> Bool {
    guard let told else { return false }
    return try await hash(range, told.algorithm) == told.digest
  }

  /// What the server says of a range; the answer ends with its head.
  private func promise(of range: Range<Int64>) async throws -> (algorithm: DigestAlgorithm, digest: String)? {
    var request = remote.get(range, of: object)
    request.headers.append(DigestHeaders.contentWish.name, DigestHeaders.contentWish.value)
    let head = try await requester.head(of: request, readsBody: false).head
    let now = context.clock.now()
    let answer = remote.judge(
      head, wanted: range, object: object, seen: remote.facts(head, now: now), now: now)
    return answer == .bytes(range) ? DigestHeaders.content(head) : nil
  }

  private func hash(_ range: Range<Int64>, _ algorithm: DigestAlgorithm) async throws -> String? {
    guard let part = staged.part else { return nil }
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

  /// Nothing but answers' own digests can prove the bytes.
  private var hasNoDigest: Bool {
    expect.digests.isEmpty && object.digests.isEmpty && settings.verify != .size
  }

  /// Chunks that are asked for at once, at most. An answer that its own digest proves is recorded at its end: were it
  /// longer than a chunk, a kill would cost more than the chunks in flight.
  var longestRun: Int64 { provesRanges || hasNoDigest && givesRangeDigests != false ? 1 : 16 }

  /// Takes in what an answer says of its own bytes, where nothing will prove the whole, or where that has failed.
  func noted(_ head: AnswerHead, _ proof: RangeProof) -> AnswerHead {
    guard [200, 206].contains(head.status), !head.carriesWhole, provesRanges || hasNoDigest else {
      return head
    }
    proof.promise = DigestHeaders.content(head)
    givesRangeDigests = proof.promise != nil
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
    staged.forgetHash()
    book.note(.discarded(Int64(range.count)))
    live.add(-Int64(range.count))
  }
}
