import Endpoints
import JobLedger
import JobModel

/// What answers to single bodies prove, where the store gives no digest of the whole.
extension Upload {
  /// ETags are read in one way for all of an endpoint.
  private var endpointName: String {
    switch book.transfer.destination {
    case .remote(let name, _): name
    case .url, .local: sink.origin
    }
  }

  /// The digests that go with a body.
  func bodyDigests(in session: RemoteSession?) -> [DigestAlgorithm] {
    let wanted = traits.chunkDigests(in: session)
    // A single body that may not be replaced has to be refused at once where it is damaged.
    let isOnlyTry = session == nil && source.mustBeNew && traits.etagsMayBeMD5
    return isOnlyTry || context.etags.asksForMD5(endpointName) ? wanted + [.md5] : wanted
  }

  /// Notes what the answer to a body proved of it.
  ///
  /// - Throws: `INTEGRITY_MISMATCH` where the store took other bytes.
  func note(_ receipt: ChunkReceipt, of chunk: UploadChunk, isWhole: Bool) async throws {
    proved[chunk.range.lowerBound] = nil
    let told = receipt.digests.keys.filter { chunk.digests[$0] != nil }
    if let algorithm = told.min(by: { $0.rawValue < $1.rawValue }) {
      proved[chunk.range.lowerBound] = algorithm
      return
    }
    // A digest of the whole is compared at the end.
    guard settings.verify != .size, let theirs = receipt.likelyMD5, !isWhole || receipt.digests.isEmpty else {
      return
    }
    let along = chunk.digests[.md5]
    let read = along == nil ? try await digests(of: chunk.range, [.md5])[.md5] : along
    switch context.etags.judge(endpointName, matches: read == theirs, wentAlong: along != nil) {
    case .match: proved[chunk.range.lowerBound] = .md5
    case .nothing: break
    case .damaged:
      throw Failure(
        .integrityMismatch, "\(sink.place) took chunk \(chunk.index) with another md5, by its ETag",
        chunk: chunk.index, expected: read, actual: theirs)
    }
  }

  /// The checks that the answers to all bodies make together; none where one of them proved nothing.
  ///
  /// - Throws: `INTEGRITY_MISMATCH` where a part that an earlier attempt sent is not what the source has there.
  func checksOfBodies() async throws -> [Verification] {
    let all = held.sorted
    guard settings.verify != .size, !all.isEmpty, all.reduce(0, { $0 + $1.length }) == source.size else {
      return []
    }
    try await proveEarlier(all.filter { proved[$0.offset] == nil })
    let found = Set(all.compactMap { proved[$0.offset] }.map(\.rawValue))
    guard all.allSatisfy({ proved[$0.offset] != nil }) else { return [] }
    let suffix = book.progress.session == nil ? "" : "-of-parts"
    return found.sorted().map { Verification($0 + suffix, .server, .match) }
  }

  /// Parts of earlier attempts, by the ETags on record.
  private func proveEarlier(_ parts: [ChunkRecord]) async throws {
    guard traits.etagsMayBeMD5, !context.etags.areOther(endpointName) else { return }
    var others: [ChunkRecord] = []
    for part in parts {
      if try await digests(of: part.range, [.md5])[.md5] == part.receipt?.lowercased() {
        proved[part.offset] = .md5
      } else {
        others.append(part)
      }
    }
    // Where no ETag is an MD5, they tell nothing.
    guard let bad = others.first, proved.values.contains(.md5) || context.etags.areMD5(endpointName) else {
      return
    }
    throw Failure(
      .integrityMismatch, "\(sink.place) holds bytes from \(bad.offset) with another md5, by their ETag",
      actual: bad.receipt)
  }

  /// What the server itself knows of what was found: what can't be an echo, nor an ETag of another kind.
  func ownWord(_ object: RemoteObject) -> [DigestAlgorithm: String] {
    object.digests.filter { !traits.echoes.contains($0.key) && ($0.key != .md5 || !traits.etagsMayBeMD5) }
  }

  /// What was told of it, without an MD5 where ETags are none.
  func told(_ object: RemoteObject) -> [DigestAlgorithm: String] {
    object.digests.filter { $0.key != .md5 || !context.etags.areOther(endpointName) }
  }

  /// What came to the destination while the upload was under way, which `if_exists` protects.
  ///
  /// - Returns: the file where it is this one: an answer was lost.
  func lookBeforeTheEnd(
    _ session: RemoteSession, _ mine: [DigestAlgorithm: String]
  ) async throws -> UploadedFile? {
    guard source.mustBeNew, traits.looksBeforeItsEnd, let found = try await sink.look(.retried) else {
      return nil
    }
    switch found {
    case .nothing, .hidden: return nil
    // What can't be read may be a file.
    case .failed(let failure): throw failure
    case .object: break
    }
    if let file = try await finishedAlready(mine, session) { return file }
    throw Failure(
      .destinationExists,
      "there is a file at \(sink.lookedAt) already: it came while the upload was under way")
  }
}
