import Dispatch
import Locks
import Synchronization

/// Runs what blocks or computes for long away from the network thread, as many at once as there are cores.
package final class BlockingPool: Sendable {
  private struct State {
    var waiting: [@Sendable () -> Void] = []
    var workers = 0
  }
  private let queue: DispatchQueue
  private let width: Int
  private let state = Locked(State())

  package init(label: String, width: Int) {
    queue = DispatchQueue(label: label, attributes: .concurrent)
    self.width = max(1, width)
  }

  package func submit(_ work: @escaping @Sendable () -> Void) {
    // What waits holds no thread: each would have a stack and memory of its own.
    let isFree = state.withLock { state -> Bool in
      state.waiting.append(work)
      guard state.workers < width else { return false }
      state.workers += 1
      return true
    }
    guard isFree else { return }
    queue.async { [self] in
      while let work = next() { work() }
    }
  }

  private func next() -> (@Sendable () -> Void)? {
    state.withLock { state in
      if !state.waiting.isEmpty { return state.waiting.removeFirst() }
      state.workers -= 1
      return nil
    }
  }

  /// Runs work that takes long and asks now and then whether it is still wanted.
  package nonisolated(nonsending) func runAsking<Value: Sendable>(
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
