import Locks
import Scheduler

/// Passes a stop on to everyone attached, including those who attach after it. The first cause counts.
package final class StopController: Sendable {
  private struct State {
    var cause: StopCause?
    var deliver: [@Sendable (StopCause) -> Void] = []
  }
  private let state = Locked(State())

  var cause: StopCause? { state.withLock { $0.cause } }

  package init() {}

  /// A signal has asked for the stop.
  package func interrupt() { stop(.interrupted) }

  func stop(_ cause: StopCause) {
    let deliver = state.withLock { state in
      if state.cause == nil { state.cause = cause }
      return state.deliver
    }
    for one in deliver { one(cause) }
  }

  func attach(_ deliver: @escaping @Sendable (StopCause) -> Void) {
    let early = state.withLock { state in
      state.deliver.append(deliver)
      return state.cause
    }
    if let early { deliver(early) }
  }
}

extension StopController {
  /// A body was left behind, because a stop was asked for before it ended.
  struct Stopped: Error { let cause: StopCause }

  /// Runs a body that can't be cancelled, and leaves it behind when a stop is asked for.
  ///
  /// - Parameter patience: how long the body may go on after that.
  /// - Throws: `Stopped`; what the body throws.
  func race<Value: Sendable>(
    patience: Duration = .zero, _ body: @escaping @Sendable () async throws -> Value
  ) async throws -> Value {
    try await withCheckedThrowingContinuation { continuation in
      let once = Once(continuation)
      attach { cause in
        Task {
          try? await Task.sleep(for: patience)
          once.resume(.failure(Stopped(cause: cause)))
        }
      }
      Task {
        do { once.resume(.success(try await body())) } catch { once.resume(.failure(error)) }
      }
    }
  }
}

/// A continuation that the first of several results resumes.
private final class Once<Value: Sendable>: Sendable {
  private let continuation: Locked<CheckedContinuation<Value, any Error>?>

  init(_ continuation: CheckedContinuation<Value, any Error>) { self.continuation = Locked(continuation) }

  func resume(_ result: Result<Value, any Error>) {
    let first = continuation.withLock { held in
      defer { held = nil }
      return held
    }
    first?.resume(with: result)
  }
}
