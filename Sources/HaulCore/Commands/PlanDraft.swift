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
  private let home: StateFolder
  /// The state folder, where it was made for the draft.
  private let root: String?

  /// - Parameter base: what it begins as a copy of: compiling then only brings it up to date.
  /// - Throws: `End` with 73 where it can't be made.
  init(_ state: StateFolder, from base: JobLedger? = nil) throws {
    let home = Self.home(state)
    self.home = home
    root = Files.exists(state.path) ? nil : state.path
    let name = ULID.make(now: SystemClock.now)
    try home.make(name)
    folder = home.folder(name)
    do {
      // Another command's sweep takes a folder without a lock for one that was left.
      guard let lock = try RunLock.take(folder, waiting: false, remake: { try home.make(name) }) else {
        throw End(
          .cannotCreate, "`\(folder)` is locked by somebody else", hint: "run the same command again")
      }
      self.lock = lock
    } catch {
      Self.remove(folder, in: home, root)
      throw error
    }
    // First of all: what is left may be what fills the disk.
    Self.sweep(home, besides: name, state)
    do {
      do { try base?.copy(to: folder) } catch let error as LedgerError { throw End(error) }
      ledger = try home.open(name, holding: lock, isDraft: true)
    } catch {
      Self.remove(folder, in: home, root)
      throw error
    }
  }

  deinit { discard() }

  /// Removes it before its last reference is gone, which may be on another thread while the process ends.
  func discard() { Self.remove(folder, in: home, root) }

  /// A command that comes to nothing leaves no empty folders either.
  private static func remove(_ folder: String, in home: StateFolder, _ root: String?) {
    Files.remove(folder)
    rmdir(home.path)
    if let root { rmdir(root) }
  }

  /// Where drafts and kept plans lie. No job's name begins with a dot.
  static func home(_ state: StateFolder) -> StateFolder { StateFolder(path: state.path + "/.plans") }

  /// Removes what killed commands left, whose lock nobody holds, and kept plans that are of no use any more.
  static func sweep(_ home: StateFolder, besides mine: String? = nil, _ state: StateFolder) {
    for name in home.jobs where name != mine && !KeptPlan.isOfUse(name, in: home, state) {
      guard let lock = try? RunLock.take(home.folder(name), waiting: false) else { continue }
      Files.remove(home.folder(name))
      withExtendedLifetime(lock) {}
    }
  }
}
