import Locks

/// The bodies that are read now, of all servers: they share the memory that what is under way takes.
final class OpenBodies: Sendable {
  /// Bytes that all of them may have under way.
  private static let window: Int64 = 16 << 20
  private let count = Locked(0)

  func begin() { count.withLock { $0 += 1 } }
  func end() { count.withLock { $0 -= 1 } }
  /// What each may have under way.
  var share: Int64 { Self.window / Int64(max(1, count.withLock { $0 })) }
}
