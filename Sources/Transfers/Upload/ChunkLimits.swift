import Locks

/// The largest chunks, in bytes, that servers have agreed to in this run, by origin: `chunk_size: auto` asks for no more.
final class ChunkLimits: Sendable {
  private let limits = Locked<[String: Int64]>([:])

  /// A server agreed to chunks of `limit` bytes for a file of `size`, where more were asked for.
  func note(_ origin: String, _ limit: Int64, size: Int64) {
    // The one chunk of a small file says nothing of larger ones.
    guard limit < size else { return }
    limits.withLock { $0[origin] = min(limit, $0[origin] ?? limit) }
  }

  subscript(_ origin: String) -> Int64? { limits.withLock { $0[origin] } }
}
