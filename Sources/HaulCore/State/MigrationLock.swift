import Glibc

/// Held beside the run lock by a command that only migrates an older state: who finds the run lock taken knows that no
/// runner has it, and waits.
final class MigrationLock: Sendable {
  static let name = "migrate.lock"
  private let descriptor: Int32

  /// Waits until nobody else has it.
  init?(_ folder: String) {
    descriptor = open(folder + "/" + Self.name, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { return nil }
    while flock(descriptor, LOCK_EX) != 0 {
      guard errno == EINTR else { return nil }
    }
  }

  deinit { close(descriptor) }

  /// Waits for a migration that is under way.
  ///
  /// - Returns: false where there is none.
  static func wait(_ folder: String) -> Bool {
    let descriptor = open(folder + "/" + Self.name, O_RDWR | O_CLOEXEC)
    guard descriptor >= 0 else { return false }
    defer { close(descriptor) }
    guard flock(descriptor, LOCK_EX | LOCK_NB) != 0 else { return false }
    while flock(descriptor, LOCK_EX) != 0 {
      guard errno == EINTR else { return false }
    }
    return true
  }
}
