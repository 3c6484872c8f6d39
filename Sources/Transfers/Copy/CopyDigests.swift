import Digests
import Endpoints
import JobLedger
import JobModel

/// What is known of a copy's digests: of the bytes that have passed, by the source's word, by the manifest's.
///
/// Belongs to one transfer's actor.
final class CopyDigests {
  private let object: RemoteObject
  private let origin: CopyOrigin
  private let scope: UploadScope
  /// nil where what passes in this attempt is not all of it.
  private var passing: PassingDigest?
  /// Those that the sink holds: their checksums make the whole's.
  private var chunks: () -> [ChunkRecord] = { [] }
  /// Of a reading of all of it for them.
  private var read: [DigestAlgorithm: String] = [:]

  init(of object: RemoteObject, _ origin: CopyOrigin, _ scope: UploadScope) throws {
    (self.object, self.origin, self.scope) = (object, origin, scope)
    try restart()
  }

  private var size: Int64 { object.size ?? 0 }
  private var isByService: Bool { scope.copiedBy == .service }
  /// Those that the request says which ties the copy to its record.
  private var said: Set<DigestAlgorithm> { scope.settings.then?.digests ?? [] }

  // MARK: What passes

  /// All of it passes from here on.
  func restart() throws {
    stop()
    read = [:]
    let isCompared = scope.settings.verify != .size || !scope.expect.digests.isEmpty
    var wanted = said
    if isCompared {
      wanted.formUnion(scope.expect.digests.keys)
      wanted.formUnion(object.digests.keys)
      wanted.formUnion(scope.traits.abilities(of: size).fileDigests)
      wanted.insert(.sha256)
    }
    guard !isByService, !wanted.isEmpty else { return }
    passing = try PassingDigest(wanted, pool: scope.context.local.pool)
  }

  /// Not all of it passes in this attempt, or nothing more.
  func stop() {
    passing?.letGo()
    passing?.wake()
    passing = nil
  }

  /// Chunks are about to be sent. Where the sink holds others than have passed here, no digest of the whole can be made of
  /// what passes.
  func willSend(besides held: HeldChunks, told chunks: @escaping () -> [ChunkRecord]) {
    self.chunks = chunks
    // What waits for a chunk that was lost on its way has room that this one needs.
    passing?.letGo()
    guard let passing, held.sorted.contains(where: { $0.range.upperBound > passing.position }) else { return }
    stop()
  }

  /// Nothing passes any more: these are all chunks that the sink was sent.
  func recall(_ sent: [ChunkRecord]) { chunks = { sent } }

  func learn(_ found: [DigestAlgorithm: String]) { read.merge(found) { $1 } }

  /// A chunk is here.
  nonisolated(nonsending) func add(_ loan: BufferBudget.Loan, at offset: Int64) async throws {
    // Its first reading was hashed, this one is sent: no digest of the whole is known any more.
    if let passing, offset < passing.position { stop() }
    try await passing?.add(loan, at: offset)
  }

  /// Reads a chunk for its digests: the bytes pass, and are not kept.
  ///
  /// - Parameter inOrder: waits for its turn, so that the digests of the whole are known in the end.
  nonisolated(nonsending) func pass(
    _ range: Range<Int64>, _ algorithms: [DigestAlgorithm], _ reader: CopyReader, inOrder: Bool
  ) async throws -> [DigestAlgorithm: String] {
    let (passing, digests) = (inOrder ? self.passing : nil, try DigestSet(Set(algorithms.map(\.kind))))
    let isInTurn = await passing?.takeTurn(at: range.lowerBound) ?? false
    do {
      try Task.checkCancellation()
      try await reader.read(range) { bytes in
        digests.update(bytes)
        if isInTurn { passing?.update(bytes) }
      }
    } catch {
      stop()
      throw error
    }
    if isInTurn { try await passing?.leaveTurn() } else { stop() }
    scope.countUnsent(Int64(range.count))
    return DigestAlgorithm.named(digests.finish())
  }

  /// The chunk at this offset comes no more.
  func end(of offset: Int64) { passing?.end(of: offset) }

  /// Bytes that come in order and are not kept.
  func update(_ bytes: UnsafeRawBufferPointer) { passing?.update(bytes) }

  /// Lets go of whoever tells of chunks.
  func close() {
    stop()
    chunks = { [] }
  }

  // MARK: What is known

  /// Digests of the bytes that have passed, all of them.
  private var passed: [DigestAlgorithm: String] {
    (passing?.finish(size: size) ?? joined).merging(read) { own, _ in own }
  }

  /// The digest of the whole that the chunks' make.
  private var joined: [DigestAlgorithm: String] {
    let (parts, algorithm) = (chunks().sorted { $0.offset < $1.offset }, DigestAlgorithm.crc64nvme)
    var (sum, end) = (CRC64NVME(), Int64(0))
    guard chunkDigest == algorithm else { return [:] }
    for part in parts {
      guard part.offset == end, let value = UInt64(part.digest, radix: 16), part.digest.utf8.count == 16
      else {
        return [:]
      }
      sum = sum.joined(with: CRC64NVME(value: value), count: part.length)
      end = part.range.upperBound
    }
    return end == size && size > 0 ? [algorithm: Hex.encode(sum.bytes)] : [:]
  }

  /// The checksum that chunks are recorded with where those of all chunks make that of the whole.
  var chunkDigest: DigestAlgorithm? {
    let abilities = scope.traits.abilities(of: size)
    let isWhole = abilities.order == .any && abilities.fileDigests.contains(.crc64nvme)
    return isWhole && abilities.chunkDigests.contains(.crc64nvme) ? .crc64nvme : nil
  }

  /// The source, the manifest or the sink says a digest of the whole that those of the chunks do not make.
  var isAwaited: Bool {
    scope.traits.abilities(of: size).fileDigests.union(object.digests.keys).union(scope.expect.digests.keys)
      .union(said).contains { $0 != chunkDigest }
  }

  /// Digests of the whole, as far as they are known.
  ///
  /// - Throws: `INTEGRITY_MISMATCH` where what passed is not what the source says that it gives.
  func whole() throws -> [DigestAlgorithm: String] {
    let passed = passed
    for (algorithm, promised) in object.digests.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      guard let found = passed[algorithm] else { continue }
      scope.record.check(
        Verification("\(algorithm.rawValue)-of-source", .server, found == promised ? .match : .mismatch))
      guard found == promised else {
        throw Failure(
          .integrityMismatch,
          "\(origin.source.place): \(algorithm.rawValue) of what was read is \(found), the source says \(promised)",
          expected: promised, actual: found)
      }
    }
    var known = passed.merging(object.digests) { own, _ in own }
    for (algorithm, wanted) in scope.expect.digests {
      guard let told = known[algorithm] else {
        known[algorithm] = wanted
        continue
      }
      guard told == wanted else { throw notExpected(algorithm, told, wanted) }
    }
    return known
  }

  /// Says so where nothing tells what the source vouches for: of what earlier attempts copied the chunks alone were proved.
  ///
  /// - Parameter told: by the sink, which is compared with it.
  func noteUncompared(_ told: [DigestAlgorithm: String]) {
    let known = passed.merging(told) { own, _ in own }
    guard !isByService, object.digests.keys.allSatisfy({ known[$0] == nil }) else { return }
    for name in object.digests.keys.map(\.rawValue).sorted() {
      scope.record.check(Verification("\(name)-of-source", .server, .unavailable))
    }
  }

  /// The expected digests that neither what has passed tells, nor the sink.
  func unknown(_ told: [DigestAlgorithm: String]) -> Set<DigestAlgorithm> {
    Set(scope.expect.digests.keys).subtracting(found(told).keys)
  }

  /// Compares what the manifest expects with the bytes that have passed, and with what the sink says of them.
  func checkExpected(_ told: [DigestAlgorithm: String]) throws {
    let found = found(told)
    for (algorithm, wanted) in scope.expect.digests.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      guard let digest = found[algorithm] else { continue }
      guard digest == wanted else { throw notExpected(algorithm, digest, wanted) }
      scope.record.check(Verification(algorithm.rawValue, .manifest, .match))
    }
  }

  /// What is found of the algorithms that the manifest expects a digest of.
  private func found(_ told: [DigestAlgorithm: String]) -> [DigestAlgorithm: String] {
    // The service was let copy because it vouches for the source.
    let vouched = isByService ? object.digests : [:]
    let known = passed.merging(told) { own, _ in own }.merging(vouched) { own, _ in own }
    return known.filter { scope.expect.digests[$0.key] != nil }
  }

  private func notExpected(_ algorithm: DigestAlgorithm, _ found: String, _ wanted: String) -> Failure {
    scope.record.check(Verification(algorithm.rawValue, .manifest, .mismatch))
    return Failure(
      .integrityMismatch,
      "\(algorithm.rawValue) of `\(scope.record.transfer.source.text)` is \(found), the manifest expects \(wanted)",
      class: .permanent, expected: wanted, actual: found)
  }
}
