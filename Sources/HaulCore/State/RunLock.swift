import Glibc
import JobModel
import Posix

/// One runner a job: a lock that dies with its process (flock(2)).
final class RunLock: Sendable {
  static let fileName = "run.lock"
  private let descriptor: Int32

  private init(_ descriptor: Int32) { self.descriptor = descriptor }

  deinit { close(descriptor) }

  /// Whether record locks (fcntl(2)) work here, without which SQLite can't guard the ledger. One that somebody else
  /// holds is a proof of it, too.
  private static func canLockRanges(_ descriptor: Int32) -> Bool {
    var range = Glibc.flock()
    range.l_type = Int16(F_WRLCK)
    range.l_whence = Int16(SEEK_SET)
    guard fcntl(descriptor, F_SETLK, &range) == 0 else { return errno == EAGAIN || errno == EACCES }
    range.l_type = Int16(F_UNLCK)
    return fcntl(descriptor, F_SETLK, &range) == 0
  }

  /// Takes the lock; nil where another process has it.
  ///
  /// - Parameters:
  ///   - looks: how often it is tried again, every 20 ms, where its holder's end is not waited for.
  ///   - remake: makes the folder anew where somebody else has removed it.
  /// - Throws: `End` with 73 where the file system can't lock.
  static func take(
    _ folder: String, waiting: Bool, looks: Int = 10, remake: () throws -> Void = {}
  ) throws -> RunLock? {
    let path = folder + "/" + fileName
    while let descriptor = try locked(path, waiting: waiting, looks: looks, remake) {
      var (mine, present) = (stat(), stat())
      // The lock of a file that has no name any more keeps nobody out.
      if fstat(descriptor, &mine) == 0, stat(path, &present) == 0, mine.st_ino == present.st_ino,
        mine.st_dev == present.st_dev
      {
        return RunLock(descriptor)
      }
      close(descriptor)
    }
    return nil
  }

  private static func locked(
    _ path: String, waiting: Bool, looks: Int, _ remake: () throws -> Void
  ) throws -> Int32? {
    var descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    if descriptor < 0, errno == ENOENT {
      try remake()
      descriptor = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0o600)
    }
    guard descriptor >= 0 else {
      throw End(.cannotCreate, "`\(path)` can't be opened: \(SystemError())")
    }
    guard canLockRanges(descriptor) else {
      let reason = SystemError()
      close(descriptor)
      throw End(
        .cannotCreate, "the state's file system can't lock `\(path)` as SQLite needs it: \(reason)",
        hint: "keep the state on a local file system, with --state-dir")
    }
    // `status` looks at the lock for a moment: that is no runner.
    var patience = waiting ? 0 : looks
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
        .cannotCreate, "`\(path)` can't be locked: \(SystemError(number))",
        hint: "keep the state on a local file system, with --state-dir")
    }
    return descriptor
  }
}
