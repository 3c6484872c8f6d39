import JobModel
import Synchronization
import TransferEngine

/// A network that nothing is sent over, and whose time the test moves.
final class ManualTransport: Transport {
  private struct Sleeper {
    let id: Int
    let until: Double
    let continuation: CheckedContinuation<Void, any Error>
  }
  private struct State {
    var now = 0.0
    var last = 0
    var sleepers: [Sleeper] = []
    var cancelled: Set<Int> = []
  }
  let executor: any SerialExecutor & TaskExecutor = QueueExecutor()
  private let state = Mutex(State())

  var now: Double { state.withLock { $0.now } }
  /// Whether somebody waits for a moment.
  var sleeps: Bool { state.withLock { !$0.sleepers.isEmpty } }

  func advance(to time: Double) {
    let due = state.withLock { state in
      state.now = time
      let due = state.sleepers.filter { $0.until <= time }
      state.sleepers.removeAll { $0.until <= time }
      return due
    }
    for sleeper in due { sleeper.continuation.resume() }
  }

  nonisolated(nonsending) func sleep(seconds: Double) async throws {
    let id = state.withLock { state in
      state.last += 1
      return state.last
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isOver = state.withLock { state in
          if state.cancelled.contains(id) { return true }
          state.sleepers.append(Sleeper(id: id, until: state.now + seconds, continuation: continuation))
          return false
        }
        if isOver { continuation.resume(throwing: CancellationError()) }
      }
    } onCancel: {
      let gone = state.withLock { state in
        state.cancelled.insert(id)
        let gone = state.sleepers.filter { $0.id == id }
        state.sleepers.removeAll { $0.id == id }
        return gone
      }
      for sleeper in gone { sleeper.continuation.resume(throwing: CancellationError()) }
    }
  }

  nonisolated(nonsending) func send(_ request: WireRequest, sink: any AnswerSink) async throws {
    throw TransportError(Failure(.networkUnreachable, "there is no network"))
  }
}
