import Endpoints
import Locks

/// The answer to one request, once it is there.
final class SFTPAnswer: Sendable {
  private enum State: Sendable {
    case open
    case awaited(CheckedContinuation<SFTPReply, any Error>)
    case told(Result<SFTPReply, any Error>)
    /// Nobody waits for it any more.
    case left(@Sendable (SFTPReply) -> Void)
  }
  private let state = Locked(State.open)

  func tell(_ result: Result<SFTPReply, any Error>) {
    let before = state.withLock { state in
      let before = state
      if case .told = state { return before }
      state = .told(result)
      return before
    }
    switch before {
    case .open, .told: break
    case .awaited(let continuation): continuation.resume(with: result)
    case .left(let use): if case .success(let reply) = result { use(reply) }
    }
  }

  /// Waits for it. Called once.
  ///
  /// - Throws: `Failure` where the connection ended first; `CancellationError`.
  nonisolated(nonsending) func value() async throws -> SFTPReply {
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let result: Result<SFTPReply, any Error>? = state.withLock { state in
          if case .told(let result) = state { return result }
          if Task.isCancelled { return .failure(CancellationError()) }
          state = .awaited(continuation)
          return nil
        }
        if let result { continuation.resume(with: result) }
      }
    } onCancel: {
      let waiting = state.withLock { state -> CheckedContinuation<SFTPReply, any Error>? in
        guard case .awaited(let continuation) = state else { return nil }
        state = .open
        return continuation
      }
      waiting?.resume(throwing: CancellationError())
    }
  }

  /// Gives it up: what comes all the same goes to `use`.
  func leave(_ use: @escaping @Sendable (SFTPReply) -> Void) {
    let reply = state.withLock { state -> SFTPReply? in
      if case .told(.success(let reply)) = state { return reply }
      state = .left(use)
      return nil
    }
    if let reply { use(reply) }
  }
}
