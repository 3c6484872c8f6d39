import Dispatch
import Glibc
import Locks
import Posix

/// A command that is run once, for so long at most, and ended when nobody waits for it any more.
final class BoundedCommand: Sendable {
  /// What became of it other than well.
  struct Fault: Error {
    var message: String
    /// Its exit status, or the signal that ended it; nil where it did not end by itself.
    var status: Int32?
    /// It had not ended by itself when its time was over.
    var isTimeout = false
  }

  /// Where a command runs that has no environment of ours, and whose output nobody wants.
  struct Surroundings: Sendable {
    var folder: String
    var variables: [String: String]
  }

  private struct State: Sendable {
    /// Nil before it runs and after its end.
    var process: Int32?
    /// Who waits; nil once it has been answered.
    var waiter: CheckedContinuation<[UInt8], any Error>?
    /// Nobody waits any more: it does not begin.
    var isOver = false
  }
  private let words: [String]
  private let surroundings: Surroundings?
  private let showsErrors: Bool
  private let state = Locked(State())

  private init(_ words: [String], _ surroundings: Surroundings?, showsErrors: Bool) {
    self.words = words
    self.surroundings = surroundings
    self.showsErrors = showsErrors
  }

  /// - Parameters:
  ///   - longest: seconds; then it is ended, with all that it has started.
  ///   - surroundings: nil for our own.
  ///   - showsErrors: whether what it writes to its standard error goes to ours.
  /// - Returns: its standard output; nothing where it has surroundings of its own.
  /// - Throws: `Fault`, or `CancellationError`.
  @discardableResult
  static func output(
    _ words: [String], for longest: Double, in surroundings: Surroundings? = nil, showsErrors: Bool
  ) async throws -> [UInt8] {
    let command = BoundedCommand(words, surroundings, showsErrors: showsErrors)
    return try await withTaskCancellationHandler {
      try await withCheckedThrowingContinuation { continuation in
        let isOver = command.state.withLock { state in
          if !state.isOver { state.waiter = continuation }
          return state.isOver
        }
        guard !isOver else { return continuation.resume(throwing: CancellationError()) }
        // Before the thread, whose start may have to wait for another's end.
        DispatchQueue.global().asyncAfter(deadline: .now() + longest) { [weak command] in
          command?.fail("took longer than \(Int(longest.rounded(.up))) s and was ended", isTimeout: true)
        }
        DedicatedThread.start { command.run() }
      }
    } onCancel: {
      command.end(.failure(CancellationError()))
    }
  }

  private func run() {
    let process: ChildProcess
    do throws(SystemError) {
      process = try ChildProcess(
        env: ["--"] + words, showsErrors: showsErrors,
        in: surroundings.map { ($0.folder, $0.variables) }, keepsOutput: surroundings == nil)
    } catch {
      return fail("can't be run: \(error)")
    }
    let isOver = state.withLock { state in
      state.process = process.id
      return state.isOver
    }
    if isOver { stop() }
    let output = process.readToEnd()
    if output == nil { fail("wrote more than \(ChildProcess.mostOutput >> 20) MiB and was ended") }
    // Its id may be another's once it is reaped.
    state.withLock { $0.process = nil }
    let status = process.reap()
    guard status == 0 else { return fail("ended with \(status)", status) }
    end(.success(output ?? []))
  }

  private func fail(_ message: String, _ status: Int32? = nil, isTimeout: Bool = false) {
    end(.failure(Fault(message: message, status: status, isTimeout: isTimeout)))
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

  private func stop() {
    // Its group: what is left of it would hold our standard error open, and who reads that waits for its end.
    state.withLock { state in
      if let process = state.process { _ = kill(-process, SIGKILL) }
    }
  }
}
