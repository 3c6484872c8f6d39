import Synchronization

/// Names one request among all that this process makes.
package struct CurlRequestID: Hashable, Sendable {
  private let number: UInt64
  private static let last = Atomic<UInt64>(0)

  /// A new one.
  package init() {
    number = Self.last.wrappingAdd(1, ordering: .relaxed).newValue
  }
}
