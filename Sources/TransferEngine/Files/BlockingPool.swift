import Dispatch
import Synchronization

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

  /// Runs work that takes long and asks now and then whether it is still wanted.
  nonisolated(nonsending) func runAsking<Value: Sendable>(
    _ work: @escaping @Sendable (_ isCancelled: @escaping () -> Bool) throws -> Value
  ) async throws -> Value {
    let flag = Flag()
    return try await withTaskCancellationHandler {
      try await run { try work { flag.isSet } }
    } onCancel: {
      flag.set()
    }
  }

  private final class Flag: Sendable {
    private let value = Atomic<Bool>(false)
    var isSet: Bool { value.load(ordering: .relaxed) }
    func set() { value.store(true, ordering: .relaxed) }
  }

  package nonisolated(nonsending) func run<Value: Sendable>(
    _ work: @escaping @Sendable () throws -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      submit { continuation.resume(with: Result { try work() }) }
    }
  }
}
