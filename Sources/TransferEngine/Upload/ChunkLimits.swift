import Locks

/// The largest chunks, in bytes, that servers have agreed to in this run, by origin: `chunk_size: auto` asks for no more.
final class ChunkLimits: Sendable {
  private let limits = Locked<[String: Int64]>([:])

  func note(_ origin: String, _ limit: Int64) {
    limits.withLock { $0[origin] = min(limit, $0[origin] ?? limit) }
  }

  subscript(_ origin: String) -> Int64? { limits.withLock { $0[origin] } }
}
