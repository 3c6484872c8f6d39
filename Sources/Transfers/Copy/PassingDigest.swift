import Digests
import JobModel
import LocalFiles

/// Digests of a copy's bytes, computed as they pass: chunks that come before their turn wait for it in their buffers.
///
/// Belongs to one transfer's actor.
final class PassingDigest {
  private let digests: DigestSet
  private let pool: BlockingPool
  /// Hashed up to there.
  private(set) var position: Int64 = 0
  private var waiting: [Int64: BufferBudget.Loan] = [:]
  private var isHashing = false
  private var found: [DigestAlgorithm: String]?

  init(_ algorithms: Set<DigestAlgorithm>, pool: BlockingPool) throws {
    digests = try DigestSet(Set(algorithms.map(\.kind)))
    self.pool = pool
  }

  /// A chunk has come. Chunks are hashed once, in the order of their offsets.
  nonisolated(nonsending) func add(_ loan: BufferBudget.Loan, at offset: Int64) async throws {
    guard offset >= position, found == nil else { return }
    waiting[offset] = loan
    guard !isHashing else { return }
    isHashing = true
    defer { isHashing = false }
    while let next = waiting.removeValue(forKey: position) {
      try await pool.run { [digests] in next.bytes.withUnsafeBytes { digests.update($0) } }
      position += Int64(next.bytes.count)
    }
  }

  /// Bytes that come in order and are not kept.
  func update(_ bytes: UnsafeRawBufferPointer) {
    digests.update(bytes)
    position += Int64(bytes.count)
  }

  /// The digests of all bytes; nil where some have not passed in this attempt.
  func finish(size: Int64) -> [DigestAlgorithm: String]? {
    guard position == size, !isHashing else { return nil }
    if found == nil { found = DigestAlgorithm.named(digests.finish()) }
    return found
  }

  /// Gives the buffers back of what will never have its turn: an earlier attempt sent what comes before it.
  func letGo() { waiting = [:] }
}
