import Glibc
import JobLedger
import JobModel
import Posix

/// The plan that `haul plan` compiled last for a job that has never run. The next `plan` shows it again where the manifest
/// is as it was, and begins with a copy of it elsewhere; the job's first run takes it over.
struct KeptPlan {
  let ledger: JobLedger
  private let lock: RunLock

  /// What was compiled a week ago is removed by the next `plan` or `gc`, in seconds.
  private static let lifetime = 7 * 86400.0
  private static let prefix = "kept-"
  /// Before the part that a plan is of; no job's name has it.
  private static let shardMark: Character = "@"

  /// Nil where there is none, where another command uses it, or where it can't be read.
  init?(of job: String, _ state: StateFolder) {
    let folder = Self.folder(job, state)
    guard let lock = Self.lock(folder), let ledger = try? JobLedger(folder: folder, mayMigrate: true) else {
      return nil
    }
    (self.lock, self.ledger) = (lock, ledger)
  }

  /// Keeps a draft, whose folder is gone then, in place of what was kept; without effect where another command uses
  /// that, or where it can't be brought to the disk.
  static func keep(_ draft: PlanDraft, of job: String, _ state: StateFolder) {
    let folder = folder(job, state)
    // Commits of a draft are not synced.
    guard !state.exists(job), (try? draft.ledger.checkpoint()) != nil,
      (try? Files.sync(draft.ledger.path)) != nil
    else { return }
    let lock = lock(folder)
    guard lock != nil || !Files.exists(folder) else { return }
    Files.remove(folder)
    rename(draft.folder, folder)
    withExtendedLifetime(lock) {}
  }

  /// Gives the plan to a job that has no state yet, where it was compiled from `mark`.
  ///
  /// - Parameter target: the job's folder, locked by the caller.
  static func move(of job: String, from mark: String, to target: String, _ state: StateFolder) {
    let folder = folder(job, state)
    guard !state.exists(job), let lock = lock(folder) else { return }
    defer { withExtendedLifetime(lock) {} }
    // The ledger is closed, and its log written back, before the file moves.
    guard isCompiled(folder, from: mark), rename(folder + "/plan.sqlite", target + "/plan.sqlite") == 0 else {
      return
    }
    try? Files.sync(target)
    Files.remove(folder)
  }

  /// Removes it, where no other command uses it: the job has a state of its own now.
  static func remove(of job: String, _ state: StateFolder) {
    let folder = folder(job, state)
    guard let lock = lock(folder) else { return }
    Files.remove(folder)
    withExtendedLifetime(lock) {}
  }

  /// Whether a folder beside the drafts holds a plan that may be asked for again.
  static func isOfUse(_ name: String, in home: StateFolder, _ state: StateFolder) -> Bool {
    guard name.hasPrefix(prefix) else { return false }
    let parts = name.dropFirst(prefix.count).split(separator: shardMark, maxSplits: 1).map(String.init)
    guard let job = parts.first,
      !state.part(parts.dropFirst().first.flatMap(Shard.init(folderName:))).exists(job)
    else {
      return false
    }
    var status = stat()
    guard stat(home.folder(name) + "/plan.sqlite", &status) == 0 else { return false }
    return SystemClock.now - Double(status.st_mtim.tv_sec) < lifetime
  }

  private static func isCompiled(_ folder: String, from mark: String) -> Bool {
    guard let ledger = try? JobLedger(folder: folder, mayMigrate: true) else { return false }
    return (try? ledger.compiled(from: mark)) != nil && (try? ledger.checkpoint()) != nil
  }

  private static func folder(_ job: String, _ state: StateFolder) -> String {
    PlanDraft.home(state).folder(prefix + job + (state.shard.map { "\(shardMark)\($0.folderName)" } ?? ""))
  }

  private static func lock(_ folder: String) -> RunLock? {
    guard Files.exists(folder + "/plan.sqlite") else { return nil }
    return try? RunLock.take(folder, waiting: false)
  }
}
