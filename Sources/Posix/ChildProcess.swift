import CPosix
import Glibc

/// A program that runs beside this one, in a process group of its own. Its input is empty, its output is read here, and it has no
/// other descriptor of ours than standard error.
package struct ChildProcess: Sendable {
  package let id: Int32
  private let output: Int32

  /// Runs env(1) with these arguments, which finds the program.
  ///
  /// - Parameters:
  ///   - surroundings: where it runs, and its variables; nil for our own.
  ///   - keepsOutput: what it writes is read here; else it goes to /dev/null.
  package init(
    env arguments: [String], showsErrors: Bool,
    in surroundings: (folder: String, variables: [String: String])? = nil, keepsOutput: Bool = true
  ) throws(SystemError) {
    var ends: [Int32] = [-1, -1]
    if keepsOutput {
      guard pipe2(&ends, O_CLOEXEC) == 0 else { throw SystemError() }
    } else {
      ends[1] = open("/dev/null", O_WRONLY | O_CLOEXEC)
      guard ends[1] >= 0 else { throw SystemError() }
    }
    defer { close(ends[1]) }
    let words = (["env"] + arguments).map { strdup($0) }
    let variables = (surroundings?.variables ?? [:]).map { strdup("\($0.key)=\($0.value)") }
    defer { for word in words + variables { free(word) } }
    var child: pid_t = 0
    let code =
      if let surroundings {
        haul_spawn(
          &child, "/usr/bin/env", words + [nil], variables + [nil], surroundings.folder, ends[1],
          showsErrors ? 0 : 1)
      } else {
        haul_spawn(&child, "/usr/bin/env", words + [nil], nil, nil, ends[1], showsErrors ? 0 : 1)
      }
    guard code == 0 else {
      if keepsOutput { close(ends[0]) }
      throw SystemError(code)
    }
    (id, output) = (child, ends[0])
  }

  /// Bytes that a program may write: what is read here are words and secrets.
  package static let mostOutput = 1 << 20

  /// All that it writes; nil at once where that is more than `mostOutput`. Else waits until the program has ended, and nobody
  /// else holds its output; `id` stays its own until `reap`. Called once.
  package func readToEnd() -> [UInt8]? {
    defer { if output >= 0 { close(output) } }
    var bytes: [UInt8] = []
    while output >= 0, let block = try? Files.read(output, upTo: 1 << 16), !block.isEmpty {
      bytes += block
      guard bytes.count <= Self.mostOutput else { return nil }
    }
    var facts = siginfo_t()
    while waitid(P_PID, id_t(id), &facts, WEXITED | WNOWAIT) != 0, errno == EINTR {}
    return bytes
  }

  /// Its exit status, or the number of the signal that ended it. Called once, at the end.
  package func reap() -> Int32 {
    var status: Int32 = 0
    while waitpid(id, &status, 0) < 0 {
      guard errno == EINTR else { return -1 }
    }
    let signal = status & 0x7F
    return signal == 0 ? status >> 8 & 0xFF : signal
  }
}
