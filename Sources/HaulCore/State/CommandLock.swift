import Glibc

/// Held beside the run lock by a command that is no run and may need it for long: `gc`, a control of a job at rest, the
/// migration of an older state. Who finds the run lock taken knows by it that no runner has it, and waits.
final class CommandLock: Sendable {
  static let name = "command.lock"
  private let descriptor: Int32

  /// Waits until no other command has it.
  init?(_ folder: String) {
    descriptor = open(folder + "/" + Self.name, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return nil }
    while flock(descriptor, LOCK_EX) != 0 {
      guard errno == EINTR else { return nil }
    }
  }

  deinit { close(descriptor) }

  /// Waits for the end of a command that has it.
  ///
  /// - Returns: false where none has.
  static func wait(_ folder: String) -> Bool {
    let descriptor = open(folder + "/" + Self.name, O_RDWR | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    // Shared: nobody who looks takes another who looks for a command.
    guard flock(descriptor, LOCK_SH | LOCK_NB) != 0 else { return false }
    while flock(descriptor, LOCK_SH) != 0 {
      guard errno == EINTR else { return false }
    }
    return true
  }

  /// Whether a command has it now.
  static func isHeld(_ folder: String) -> Bool {
    let descriptor = open(folder + "/" + Self.name, O_RDWR | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    return flock(descriptor, LOCK_SH | LOCK_NB) != 0 && errno == EWOULDBLOCK
  }
}
