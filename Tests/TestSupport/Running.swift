import Foundation
import Synchronization

/// How a program ended.
package struct Finished: Sendable {
  /// The exit status, or 128 + the signal that ended it.
  package let status: Int32
  package let output: String
  package let errors: String
  /// The high-water mark of resident memory in bytes, as /proc told it last (at most 20 ms before the end).
  package let peakMemory: Int
  package let seconds: Double
}

/// A program that was started by a test. It is ended, and reaped, at the latest when it is let go.
package final class Running: Sendable {
  package let pid: Int32
  private let outputPath: String
  private let errorPath: String
  private let begun = ContinuousClock.now
  private struct State {
    var status: Int32?
    var peak = 0
  }
  private let state = Mutex(State())

  /// - Parameter scratch: a folder for its standard output and error.
  package init(
    _ program: String, _ arguments: [String], environment: [String: String], folder: String, scratch: String
  ) throws {
    let stem = scratch + "/." + UUID().uuidString.prefix(8)
    outputPath = stem + ".out"
    errorPath = stem + ".err"
    var actions = posix_spawn_file_actions_t()
    posix_spawn_file_actions_init(&actions)
    defer { posix_spawn_file_actions_destroy(&actions) }
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0)
    posix_spawn_file_actions_addopen(&actions, 1, outputPath, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    posix_spawn_file_actions_addopen(&actions, 2, errorPath, O_WRONLY | O_CREAT | O_APPEND, 0o600)
    // `env` changes the folder, which posix_spawn can't everywhere, and becomes the program.
    let words = (["/usr/bin/env", "-C", folder, program] + arguments).map { strdup($0) } + [nil]
    let pairs = environment.map { strdup("\($0.key)=\($0.value)") } + [nil]
    defer { for text in words + pairs { free(text) } }
    var pid: pid_t = 0
    let code = posix_spawn(&pid, "/usr/bin/env", &actions, nil, words, pairs)
    guard code == 0 else {
      throw TestFault("`\(program)` can't be started: \(String(cString: strerror(code)))")
    }
    self.pid = pid
  }

  deinit {
    guard state.withLock({ $0.status }) == nil else { return }
    kill(pid, SIGKILL)
    var status: Int32 = 0
    waitpid(pid, &status, 0)
  }

  package var output: String { Self.text(outputPath) }
  package var errors: String { Self.text(errorPath) }

  /// Whether it still runs.
  package var isAlive: Bool { reap() == nil }

  /// Whether haul has come as far as to end in order when it is signalled: one descriptor of signalfd(2) a signal.
  package var listensToSignals: Bool {
    let folder = "/proc/\(pid)/fd/"
    let names = (try? FileManager.default.contentsOfDirectory(atPath: folder)) ?? []
    let targets = names.compactMap { try? FileManager.default.destinationOfSymbolicLink(atPath: folder + $0) }
    return targets.count { $0.contains("signalfd") } >= 2
  }

  /// Whether it has come as far as to do anything at a SIGTERM but to die of it.
  package var catchesSignals: Bool {
    guard let text = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8),
      let line = text.split(separator: "\n").first(where: { $0.hasPrefix("SigCgt:") }),
      let caught = UInt64(line.split(whereSeparator: { $0 == " " || $0 == "\t" }).last ?? "", radix: 16)
    else { return false }
    return caught & (1 << UInt64(SIGTERM - 1)) != 0
  }

  package func signal(_ number: Int32) { if reap() == nil { kill(pid, number) } }

  /// Ends it: politely, then not.
  package func end() async {
    signal(SIGTERM)
    _ = try? await wait(.seconds(5))
  }

  /// Waits for its end; kills it when the time is up.
  ///
  /// - Throws: `TestFault` when the time was up, with what it said so far.
  @discardableResult
  package func wait(_ limit: Duration = .seconds(180)) async throws -> Finished {
    let deadline = ContinuousClock.now + limit
    while true {
      if let status = reap() { return finished(status) }
      guard ContinuousClock.now < deadline else {
        kill(pid, SIGKILL)
        throw TestFault("pid \(pid) did not end within \(limit): \(errors.suffix(2000))")
      }
      let age = ContinuousClock.now - begun
      try await Task.sleep(for: age < .milliseconds(300) ? .milliseconds(4) : .milliseconds(15))
    }
  }

  /// Waits for the end of a short tool, on this thread.
  package func waitHere() -> Finished {
    var status: Int32 = 0
    while waitpid(pid, &status, 0) < 0 && errno == EINTR {}
    state.withLock { $0.status = status }
    return finished(status)
  }

  private func finished(_ status: Int32) -> Finished {
    let elapsed = (ContinuousClock.now - begun).components
    let seconds = Double(elapsed.seconds) + Double(elapsed.attoseconds) / 1e18
    let code = status & 0x7f == 0 ? (status >> 8) & 0xff : 128 + (status & 0x7f)
    return Finished(
      status: code, output: output, errors: errors, peakMemory: state.withLock { $0.peak }, seconds: seconds)
  }

  /// The raw status, once it has ended.
  private func reap() -> Int32? {
    let peak = Self.peak(of: pid)
    return state.withLock { state in
      if let status = state.status { return status }
      state.peak = max(state.peak, peak)
      var status: Int32 = 0
      guard waitpid(pid, &status, WNOHANG) == pid else { return nil }
      state.status = status
      return status
    }
  }

  // Not from wait4: a spawned child's figure begins with what its parent had.
  private static func peak(of pid: pid_t) -> Int {
    guard let text = try? String(contentsOfFile: "/proc/\(pid)/status", encoding: .utf8),
      let line = text.split(separator: "\n").first(where: { $0.hasPrefix("VmHWM:") }),
      let number = line.split(whereSeparator: { $0 == " " || $0 == "\t" }).dropFirst().first
    else { return 0 }
    return (Int(number) ?? 0) * 1024
  }

  private static func text(_ path: String) -> String {
    String(decoding: FileManager.default.contents(atPath: path) ?? Data(), as: UTF8.self)
  }
}
