import Dispatch
import Synchronization

/// Time that the test moves, and an executor to wait on.
final class ManualClock: Sendable {
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
  let executor: any SerialExecutor = QueueExecutor()
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

  func sleep(seconds: Double) async throws {
    let id = state.withLock { state in
      state.last += 1
      return state.last
    }
    try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isOver = state.withLock { state in
          if state.cancelled.contains(id) { return true }
          state.sleepers.append(
            Sleeper(id: id, until: state.now + seconds, continuation: continuation))
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
}

/// A dispatch queue as an executor.
private final class QueueExecutor: SerialExecutor {
  private let queue = DispatchQueue(label: "manual-clock")

  func enqueue(_ job: consuming ExecutorJob) {
    let job = UnownedJob(job)
    queue.async {
      job.runSynchronously(on: self.asUnownedSerialExecutor())
    }
  }

  func asUnownedSerialExecutor() -> UnownedSerialExecutor { UnownedSerialExecutor(ordinary: self) }
}
