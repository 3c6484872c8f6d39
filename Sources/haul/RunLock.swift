import Foundation
import JobModel

/// One runner a job: a lock that dies with its process (flock(2)).
final class RunLock: Sendable {
  private let descriptor: Int32

  private init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// Takes the lock; nil where another process has it.
  ///
  /// - Throws: `End` with 73 where the file system can't lock.
  static func take(_ folder: String, waiting: Bool) throws -> RunLock? {
    let path = folder + "/run.lock"
    let descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else {
      throw End(.cannotCreate, "`\(path)` can't be opened: \(String(cString: strerror(errno)))")
    }
    // `status` looks at the lock for a moment: that is no runner.
    var patience = waiting ? 0 : 10
    while flock(descriptor, LOCK_EX | (waiting ? 0 : LOCK_NB)) != 0 {
      let number = errno
      if number == EINTR { continue }
      if number == EWOULDBLOCK, patience > 0 {
        patience -= 1
        usleep(20_000)
        continue
      }
      close(descriptor)
      if number == EWOULDBLOCK { return nil }
      throw End(
        .cannotCreate, "`\(path)` can't be locked: \(String(cString: strerror(number)))",
        hint: "keep the state on a local file system, with --state-dir")
    }
    return RunLock(descriptor)
  }
}
