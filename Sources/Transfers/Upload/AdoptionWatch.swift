import Locks

/// Where it is worth a request to ask what stands at a destination before it is replaced: a server that never has
/// anything to adopt is not asked for each small file.
final class AdoptionWatch: Sendable {
  /// Bytes from which a file is worth the request in any case.
  private static let large: Int64 = 1 << 20
  /// Answers without anything to adopt, one after the other, that settle it.
  private static let patience = 8
  private let misses = Locked<[String: Int]>([:])

  func isWorthAsking(_ origin: String, size: Int64) -> Bool {
    size >= Self.large || misses.withLock { $0[origin, default: 0] } < Self.patience
  }

  func note(_ origin: String, tellsDigest: Bool) {
    misses.withLock { $0[origin] = tellsDigest ? 0 : $0[origin, default: 0] + 1 }
  }
}
