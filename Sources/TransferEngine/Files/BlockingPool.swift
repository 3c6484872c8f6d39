import Dispatch

/// Runs what blocks or computes for long away from the network thread, as many at once as there are cores.
package final class BlockingPool: Sendable {
  private let queue: DispatchQueue
  private let slots: DispatchSemaphore

  package init(label: String, width: Int) {
    queue = DispatchQueue(label: label, attributes: .concurrent)
    slots = DispatchSemaphore(value: max(1, width))
  }

  package func submit(_ work: @escaping @Sendable () -> Void) {
    queue.async { [slots] in
      slots.wait()
      defer { slots.signal() }
      work()
    }
  }

  package func run<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      submit { continuation.resume(with: Result { try work() }) }
    }
  }
}
