import Endpoints
import JobModel

/// What the answers to single bodies prove, where the store gives no digest of the whole.
///
/// Belongs to one transfer's actor.
final class ChunkProofs {
  /// Which digest answered each chunk of the session, or `mixed`: of what earlier attempts copied, it is the proof. Among the
  /// facts of a session.
  static let answered = "answered"

  private let scope: UploadScope
  private let source: SendingSource
  /// By offset: the digest by which the answer to a body showed that the server took what was sent.
  private var proved: [Int64: DigestAlgorithm] = [:]
  /// The store answers with digests: no MD5 is taken for its ETags.
  private var answersDigests = false

  init(_ scope: UploadScope, _ source: SendingSource) { (self.scope, self.source) = (scope, source) }

  func forget() { proved = [:] }

  /// The digests that go with a body.
  func bodyDigests(in session: RemoteSession?) -> [DigestAlgorithm] {
    let wanted = scope.traits.chunkDigests(in: session)
    // A single body that may not be replaced has to be refused at once where it is damaged.
    let isOnlyTry = session == nil && source.request.mustBeNew && scope.traits.etagsMayBeMD5
    // Once an answer had nothing but an ETag: what is damaged is better refused than sent twice.
    return isOnlyTry || scope.context.uploads.etags[scope.endpointName] != nil ? wanted + [.md5] : wanted
  }

  /// The digests that are taken of a body that is read before it is sent: the MD5 too, where nothing but an ETag may prove it.
  func readDigests(in session: RemoteSession?) -> [DigestAlgorithm] {
    let along = bodyDigests(in: session)
    guard scope.traits.etagsMayBeMD5, scope.settings.verify != .size, !answersDigests,
      !along.contains(.md5), scope.context.uploads.etags[scope.endpointName] != .other
    else { return along }
    return along + [.md5]
  }

  /// Notes what the answer to a body proved of it.
  ///
  /// - Throws: `INTEGRITY_MISMATCH` where the store took other bytes.
  nonisolated(nonsending) func note(
    _ receipt: ChunkReceipt, of chunk: UploadChunk, isWhole: Bool
  ) async throws {
    proved[chunk.range.lowerBound] = nil
    let told = receipt.digests.keys.filter { chunk.digests[$0] != nil }
    let algorithm = told.min { $0.rawValue < $1.rawValue }
    noteAnswered(by: algorithm)
    if let algorithm {
      proved[chunk.range.lowerBound] = algorithm
      answersDigests = true
      return
    }
    // A digest of the whole is compared at the end.
    guard scope.settings.verify != .size, let theirs = receipt.likelyMD5, !isWhole || receipt.digests.isEmpty
    else { return }
    let along = chunk.digests[.md5]
    guard along != nil || source.copy?.knowsMD5(of: chunk) ?? true else { return }
    let read = along == nil ? try await source.digests.of(chunk.range, [.md5])[.md5] : along
    switch scope.context.uploads.etags.judge(
      scope.endpointName, matches: read == theirs, wentAlong: along != nil)
    {
    case .match: proved[chunk.range.lowerBound] = .md5
    case .nothing: break
    case .damaged:
      throw Failure(
        .integrityMismatch, "\(scope.sink.place) took chunk \(chunk.index) with another md5, by its ETag",
        chunk: chunk.index, expected: read, actual: theirs)
    }
  }

  /// On record before the chunk that it is true of.
  private func noteAnswered(by algorithm: DigestAlgorithm?) {
    guard source.copy != nil, var session = scope.record.progress.session else { return }
    let (known, word) = (session.facts[Self.answered], algorithm?.rawValue ?? "mixed")
    guard known != word, known != "mixed" else { return }
    session.facts[Self.answered] = known == nil ? word : "mixed"
    scope.record.note(.session(session))
    scope.record.save()
  }

  /// The checks that the answers to all bodies make together; none where one of them proved nothing.
  ///
  /// - Throws: `INTEGRITY_MISMATCH` where a part that an earlier attempt sent is not what the source has there.
  nonisolated(nonsending) func checks(of held: HeldChunks) async throws -> [Verification] {
    let all = held.sorted
    guard scope.settings.verify != .size, !all.isEmpty, held.bytes == source.request.size else { return [] }
    try await proveEarlier(all.filter { proved[$0.offset] == nil })
    guard all.allSatisfy({ proved[$0.offset] != nil }) else { return [] }
    let found = Set(all.compactMap { proved[$0.offset]?.rawValue })
    let suffix = scope.record.progress.session == nil ? "" : "-of-parts"
    return found.sorted().map { Verification($0 + suffix, .server, .match) }
  }

  /// Parts of earlier attempts, by the ETags on record.
  private nonisolated(nonsending) func proveEarlier(_ parts: [ChunkRecord]) async throws {
    let (etags, endpoint) = (scope.context.uploads.etags, scope.endpointName)
    guard source.copy == nil else {
      // They would have to be read again; what the server took with its digest, and compares, is proved.
      guard let algorithm = source.chunkDigest, source.abilities.chunkDigests.contains(algorithm),
        let session = scope.record.progress.session,
        scope.traits.refusesDamage(in: session) || session.facts[Self.answered] == algorithm.rawValue
      else { return }
      for part in parts where !part.digest.isEmpty { proved[part.offset] = algorithm }
      return
    }
    guard scope.traits.etagsMayBeMD5, etags[endpoint] != .other else { return }
    var others: [ChunkRecord] = []
    for part in parts {
      if try await source.digests.of(part.range, [.md5])[.md5] == part.receipt?.lowercased() {
        proved[part.offset] = .md5
      } else {
        others.append(part)
      }
    }
    // Where no ETag is an MD5, they tell nothing.
    guard let bad = others.first, proved.values.contains(.md5) || etags[endpoint] == .md5 else { return }
    throw Failure(
      .integrityMismatch,
      "\(scope.sink.place) holds bytes from \(bad.offset) with another md5, by their ETag",
      actual: bad.receipt)
  }
}
