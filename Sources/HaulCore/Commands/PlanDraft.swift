import Endpoints
import Glibc
import JobLedger
import JobModel
import Posix

/// A plan compiled apart from the job's own, in a folder beside the states of all jobs; removed with the value.
final class PlanDraft: Sendable {
  let folder: String
  let ledger: JobLedger
  private let lock: RunLock

  /// - Throws: `End` with 73 where it can't be made.
  init(_ state: StateFolder) throws {
    // No job's name begins with a dot.
    let home = StateFolder(path: state.path + "/.plans")
    let name = ULID.make(now: SystemClock.now)
    try home.make(name)
    folder = home.folder(name)
    guard let lock = try RunLock.take(folder, waiting: false) else {
      throw End(.cannotCreate, "`\(folder)` is locked by somebody else")
    }
    self.lock = lock
    ledger = try home.open(name, holding: lock)
    Self.sweep(home, besides: name)
  }

  deinit { Files.remove(folder) }

  /// Removes what killed commands left: nobody holds its lock.
  private static func sweep(_ home: StateFolder, besides mine: String) {
    for name in home.jobs where name != mine {
      guard let lock = try? RunLock.take(home.folder(name), waiting: false) else { continue }
      Files.remove(home.folder(name))
      withExtendedLifetime(lock) {}
    }
  }
}
