import Dispatch
import Glibc
import JobModel
import Locks
import Posix

/// A command that prints a secret: run once, for 30 s at most, and ended when nobody waits for it any more.
final class SecretCommand: Sendable {
  /// Seconds.
  private static let longest = 30.0

  private struct State: Sendable {
    /// Nil before it runs and after its end.
    var process: Int32?
    /// Who waits; nil once it has been answered.
    var waiter: CheckedContinuation<[UInt8], any Error>?
    /// Nobody waits any more: it does not begin.
    var isOver = false
  }
  private let words: [String]
  private let state = Locked(State())

  private init(_ words: [String]) { self.words = words }

  /// - Returns: its standard output.
  /// - Throws: `SECRET_UNAVAILABLE`, or `CancellationError`.
  static func output(_ words: [String]) async throws -> [UInt8] {
    let command = SecretCommand(words)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isOver = command.state.withLock { state in
          if !state.isOver { state.waiter = continuation }
          return state.isOver
        }
        guard !isOver else { return continuation.resume(throwing: CancellationError()) }
        // Before the thread, whose start may have to wait for another's end.
        DispatchQueue.global().asyncAfter(deadline: .now() + longest) { [weak command] in
          command?.fail("took longer than \(Int(longest)) s and was ended")
        }
        DedicatedThread.start { command.run() }
      }
    } onCancel: {
      command.end(.failure(CancellationError()))
    }
  }

  private func run() {
    guard let process = try? ChildProcess(env: ["--"] + words, showsErrors: true) else {
      return fail("can't be run")
    }
    let isOver = state.withLock { state in
      state.process = process.id
      return state.isOver
    }
    if isOver { stop() }
    let output = process.readToEnd()
    // Its id may be another's once it is reaped.
    state.withLock { $0.process = nil }
    let status = process.reap()
    guard status == 0 else { return fail("ended with \(status)") }
    end(.success(output))
  }

  private func fail(_ what: String) {
    end(.failure(Failure(.secretUnavailable, "the secret command `\(words.first ?? "")` \(what)")))
  }

  /// Answers who waits, once; a command that still runs is killed.
  private func end(_ result: Result<[UInt8], any Error>) {
    let waiter = state.withLock { state in
      defer { (state.waiter, state.isOver) = (nil, true) }
      return state.waiter
    }
    if case .failure = result { stop() }
    waiter?.resume(with: result)
  }

  /// What it has started itself may live on, and is not waited for.
  private func stop() {
    state.withLock { state in if let process = state.process { _ = kill(process, SIGKILL) } }
  }
}
