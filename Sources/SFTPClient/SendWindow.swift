import Locks

/// The bytes of writes that are under way on one connection, of all uploads: those behind them wait in line.
final class SendWindow: Sendable {
  private struct Waiter: Sendable {
    let id: Int
    let bytes: Int
    let continuation: CheckedContinuation<Void, any Error>
  }
  private struct State: Sendable {
    var bytes = 0
    var line: [Waiter] = []
    var lastID = 0
    /// Nothing is waited for any more.
    var isOver = false
  }
  private let state = Locked(State())
  private let most: Int

  /// - Parameter most: bytes; a write of more goes alone.
  init(most: Int) { self.most = most }

  private func hasRoom(_ bytes: Int, _ state: State) -> Bool {
    state.isOver || state.bytes == 0 || state.bytes + bytes <= most
  }

  /// Waits until so many bytes more may be under way. They are until `leave`.
  ///
  /// - Throws: `CancellationError`.
  nonisolated(nonsending) func enter(_ bytes: Int) async throws {
    let id = state.withLock { state in
      state.lastID += 1
      return state.lastID
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { (continuation: CheckedContinuation<Void, any Error>) in
        let result: Result<Void, any Error>? = state.withLock { state in
          if Task.isCancelled { return .failure(CancellationError()) }
          guard state.line.isEmpty, hasRoom(bytes, state) else {
            state.line.append(Waiter(id: id, bytes: bytes, continuation: continuation))
            return nil
          }
          state.bytes += bytes
          return .success(())
        }
        if let result { continuation.resume(with: result) }
      }
    } onCancel: {
      let waiter = state.withLock { state -> Waiter? in
        guard let index = state.line.firstIndex(where: { $0.id == id }) else { return nil }
        return state.line.remove(at: index)
      }
      waiter?.continuation.resume(throwing: CancellationError())
      // It may have been the first in line, and too large.
      leave(0)
    }
  }

  /// The server has answered for so many bytes, or they were never sent.
  func leave(_ bytes: Int) {
    let waiters = state.withLock { state -> [Waiter] in
      state.bytes -= bytes
      return admitted(&state)
    }
    for waiter in waiters { waiter.continuation.resume() }
  }

  /// The connection is over: whoever waits is let go, and finds out.
  func end() {
    let waiters = state.withLock { state -> [Waiter] in
      state.isOver = true
      return admitted(&state)
    }
    for waiter in waiters { waiter.continuation.resume() }
  }

  /// How many wait.
  var waiting: Int { state.withLock { $0.line.count } }

  private func admitted(_ state: inout State) -> [Waiter] {
    var waiters: [Waiter] = []
    while let first = state.line.first, hasRoom(first.bytes, state) {
      state.bytes += first.bytes
      waiters.append(state.line.removeFirst())
    }
    return waiters
  }
}
