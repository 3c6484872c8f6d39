import Locks

/// A value that is noted when it changes.
final class LastValue<Value: Equatable & Sendable>: Sendable {
  private let last: Locked<Value>

  init(_ first: Value) { last = Locked(first) }

  /// - Returns: whether it is another one than before.
  func replace(_ value: Value) -> Bool {
    last.withLock { last in
      defer { last = value }
      return last != value
    }
  }
}
