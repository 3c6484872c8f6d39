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
  /// Those who wait to give the bytes from there on.
  private var turns: [Int64: CheckedContinuation<Void, Never>] = [:]
  private var found: [DigestAlgorithm: String]?
  /// A chunk comes no more: whoever is behind it does not wait.
  private var isInVain = false

  init(_ algorithms: Set<DigestAlgorithm>, pool: BlockingPool) throws {
    digests = try DigestSet(Set(algorithms.map(\.kind)))
    self.pool = pool
  }

  /// A chunk has come. Chunks are hashed once, in the order of their offsets.
  nonisolated(nonsending) func add(_ loan: BufferBudget.Loan, at offset: Int64) async throws {
    guard offset >= position, found == nil else { return }
    waiting[offset] = loan
    try await goOn()
  }

  private nonisolated(nonsending) func goOn() async throws {
    guard !isHashing else { return }
    isHashing = true
    defer { isHashing = false }
    while let next = waiting.removeValue(forKey: position) {
      try await pool.run { [digests] in next.bytes.withUnsafeBytes { digests.update($0) } }
      position += Int64(next.bytes.count)
    }
    turns.removeValue(forKey: position)?.resume()
  }

  /// Waits until all that lies before is hashed, or will not be. The bytes from there on are then given by `update`.
  ///
  /// - Returns: false where theirs is not the turn.
  nonisolated(nonsending) func takeTurn(at offset: Int64) async -> Bool {
    // Another's turn has come to its end, and is not left yet.
    let isNext = isHashing && position == offset
    if !isInVain, position < offset || isNext { await withCheckedContinuation { turns[offset] = $0 } }
    guard position == offset, !isHashing, found == nil else { return false }
    isHashing = true
    return true
  }

  /// All bytes of the turn have been given.
  nonisolated(nonsending) func leaveTurn() async throws {
    isHashing = false
    try await goOn()
  }

  /// A chunk comes no more: those behind it wait in vain, unless it has come.
  func end(of offset: Int64) {
    guard offset >= position, waiting[offset] == nil, !(isHashing && offset == position) else { return }
    isInVain = true
    wake()
  }

  /// Nobody has a turn any more.
  func wake() {
    let woken = turns.values
    turns = [:]
    for one in woken { one.resume() }
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
  func letGo() { (waiting, isInVain) = ([:], false) }
}
