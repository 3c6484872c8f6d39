import Digests
import JobModel
import LocalFiles

/// Digests of an upload's source: of a small file at once, of another beside the sending, and what was not foreseen in
/// another reading.
///
/// Belongs to one transfer's actor.
final class SourceDigests: SendingDigests {
  private enum State {
    case idle
    case known([DigestAlgorithm: String])
    case running(IncrementalDigest)
  }

  /// Up to so many bytes a file was read whole for its fingerprint, and is hashed in less time than another thread is
  /// asked in.
  private static let small: Int64 = 16 << 10

  private let file: OpenFile
  private let size: Int64
  private let wanted: Set<DigestAlgorithm>
  private let pool: BlockingPool
  private var state = State.idle

  init(of file: OpenFile, size: Int64, wanted: Set<DigestAlgorithm>, pool: BlockingPool) {
    (self.file, self.size, self.wanted, self.pool) = (file, size, wanted, pool)
  }

  deinit { cancel() }

  /// Begins to hash the file, so that it goes on beside the sending.
  func begin() throws {
    guard case .idle = state, size > Self.small else { return }
    let digest = try trailing(wanted)
    state = .running(digest)
    digest.advance(to: size)
  }

  func cancel() {
    if case .running(let digest) = state { digest.cancel() }
  }

  /// Digests of the whole file: those that were foreseen, and these besides.
  nonisolated(nonsending) func whole(
    also more: some Sequence<DigestAlgorithm>
  ) async throws -> [DigestAlgorithm: String] {
    try begin()
    let found: [DigestAlgorithm: String]
    switch state {
    case .idle: found = try ChunkDigests.of(0..<size, of: file, wanted)
    case .known(let known): found = known
    case .running(let digest): found = DigestAlgorithm.named(try await digest.finish(size: size))
    }
    if size <= Self.small { state = .known(found) }
    let missing = Set(more).subtracting(found.keys)
    guard !missing.isEmpty else { return found }
    let late =
      size <= Self.small
      ? try ChunkDigests.of(0..<size, of: file, missing)
      : DigestAlgorithm.named(try await trailing(missing).finish(size: size))
    return found.merging(late) { old, _ in old }
  }

  /// Takes the digests of a small file's only body for the file's own: it is not read and hashed once more.
  func learn(_ found: [DigestAlgorithm: String]) {
    guard case .idle = state, size <= Self.small, wanted.allSatisfy({ found[$0] != nil }) else { return }
    state = .known(found)
  }

  /// Digests of a part of the file.
  nonisolated(nonsending) func of(
    _ range: Range<Int64>, _ algorithms: some Collection<DigestAlgorithm> & Sendable
  ) async throws -> [DigestAlgorithm: String] {
    guard !algorithms.isEmpty else { return [:] }
    let file = file
    return try await Self.run(size, pool) { try ChunkDigests.of(range, of: file, algorithms) }
  }

  /// Runs what reads and hashes a file of so many bytes, or a part of it: a small one at once, else in the pool.
  nonisolated(nonsending) static func run<Value: Sendable>(
    _ size: Int64, _ pool: BlockingPool, _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    size <= small ? try work() : try await pool.run(work)
  }

  private func trailing(_ algorithms: Set<DigestAlgorithm>) throws -> IncrementalDigest {
    try IncrementalDigest(Set(algorithms.map(\.kind)), of: file, pool: pool)
  }
}
