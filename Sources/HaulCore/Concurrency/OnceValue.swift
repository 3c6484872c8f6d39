import Locks

/// A value that is set once.
package final class OnceValue<Value: Sendable>: Sendable {
  private let content = Locked<Value?>(nil)

  package init() {}

  package var value: Value? { content.withLock { $0 } }
  package func set(_ value: Value) { content.withLock { if $0 == nil { $0 = value } } }
}
