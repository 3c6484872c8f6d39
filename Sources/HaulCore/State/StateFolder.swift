import Endpoints
import Glibc
package import JobLedger
package import JobModel
import Planner
import Posix

/// Where the state of all jobs lies: one folder a job, and in it one a part.
package struct StateFolder: Sendable {
  package let path: String
  /// The part of each job that is meant; nil for whole jobs.
  package let shard: Shard?

  package init(path: String, shard: Shard? = nil) { (self.path, self.shard) = (path, shard) }

  /// Where `--state-dir`, else the environment says.
  package init(given: String?, _ environment: ProcessEnvironment) {
    // A relative one is to be ignored (XDG Base Directory Specification).
    let path =
      given ?? environment["HAUL_STATE_DIR"]
      ?? environment["XDG_STATE_HOME"].flatMap { $0.hasPrefix("/") ? $0 + "/haul" : nil }
      ?? environment.home + "/.local/state/haul"
    self.init(path: Paths.absolute(path))
  }

  /// The state folder, where it can be told which jobs it has.
  ///
  /// - Throws: `End` with 73 where something else than a folder has its name, or it can't be read; with 64 where its path
  ///   has a `~` that no shell has replaced.
  package func checked() throws -> StateFolder {
    try refuseTilde()
    guard Files.exists(path) else { return self }
    do { _ = try Files.names(in: path) } catch {
      throw End(
        .cannotCreate, "the state folder `\(path)` can't be read: \(error)",
        hint: "give a folder with --state-dir")
    }
    return self
  }

  func folder(_ job: String) -> String {
    let whole = path + "/" + job
    return shard.map { Self.folder(of: $0, in: whole) } ?? whole
  }

  /// A plan whose file is gone while those beside it are there is damaged, not absent.
  func exists(_ job: String) -> Bool {
    ["plan.sqlite", "plan.sqlite-wal", "plan.commits"].contains {
      Files.exists(folder(job) + "/" + $0)
    }
  }

  /// Whether a path is that of a file that commands rely on in a job's folder, or of one among the reports that are kept
  /// there, whichever state folder that is in.
  static func isOwnFile(_ path: String) -> Bool {
    let parts = PathParts(path)
    let above = PathParts(parts.parent)
    if above.name == "reports", Files.exists(above.parent + "/plan.sqlite") { return true }
    let isNamed =
      parts.name.hasPrefix("plan.sqlite") || parts.name.hasPrefix(KeptTokens.fileName)
      || ["plan.commits", RunLock.fileName, CommandLock.name, VerifyJournal.name].contains(parts.name)
    return isNamed && Files.exists(parts.parent + "/plan.sqlite")
  }

  /// Names of the jobs that have state, sorted.
  package var jobs: [String] {
    let names = (try? Files.names(in: path)) ?? []
    return names.filter(exists).sorted()
  }

  /// The folders in which no destination of the job may lie, as `run` refuses them.
  func folders(for job: Job) -> StateFolders? {
    StateFolders(root: path, jobs: jobFolders + [part(nil).folder(job.name)], for: job)
  }

  /// Makes a job's folder, for its owner only.
  ///
  /// - Throws: `End` with 73 where it can't be made; with 64 where the path has a `~` that no shell has replaced.
  func make(_ job: String) throws {
    try refuseTilde()
    var tries = Self.makingTries
    while true {
      do throws(SystemError) { return try Files.makeFolders(folder(job) + "/reports") } catch {
        tries -= 1
        // Another part that came to nothing has just removed the folders above, which were empty.
        if tries > 0, error.number == ENOENT || error.number == EEXIST { continue }
        throw End(
          .cannotCreate, "the state folder `\(folder(job))` can't be made: \(error)",
          hint: "choose another one with --state-dir")
      }
    }
  }

  /// As `--state-dir=~/x`, or in a crontab: each working folder would have a state of its own.
  private func refuseTilde() throws {
    guard path.split(separator: "/").contains("~"), !Files.exists(path) else { return }
    throw End(
      .usage, "the state folder `\(path)` has a `~` that no shell has replaced",
      hint: "write the path of the home folder in its place")
  }

  /// How often a folder is made anew whose parents other parts remove.
  private static let makingTries = 100

  /// Removes a job's state, but for a token that a server has exchanged: the one that the manifest refers to is used up.
  /// The states of its parts are their own.
  ///
  /// - Parameter root: whether the state folder goes as well, where nothing else is in it.
  func forget(_ job: String, andEmptyRoot root: Bool = false) {
    let names = (try? Files.names(in: folder(job))) ?? []
    // The lock last: whoever gets it finds nothing else.
    for name in names.filter({ $0 != RunLock.fileName }) + [RunLock.fileName]
    where name != KeptTokens.fileName && name != Self.shards {
      Files.remove(folder(job) + "/" + name)
    }
    rmdir(folder(job))
    if shard != nil {
      // The folders above, where no other part has state.
      let shards = PathParts(folder(job)).parent
      rmdir(shards)
      rmdir(PathParts(shards).parent)
    }
    if root { rmdir(path) }
  }

  /// Opens a job's ledger. One of an older haul is migrated under the run lock: a runner of that version goes on.
  ///
  /// - Parameters:
  ///   - held: the job's lock, where the caller has it.
  ///   - isDraft: as of `JobLedger.init`.
  /// - Throws: `End`: with 76 where a runner of an older haul holds the lock.
  func open(_ job: String, holding held: RunLock? = nil, isDraft: Bool = false) throws -> JobLedger {
    do {
      defer { withExtendedLifetime(held) {} }
      do {
        return try JobLedger(folder: folder(job), mayMigrate: held != nil, isDraft: isDraft)
      } catch LedgerError.older { return try migrated(job) }
    } catch let error as LedgerError {
      throw End(error)
    }
  }

  private func migrated(_ job: String) throws -> JobLedger {
    let migration = CommandLock(folder(job))
    defer { withExtendedLifetime(migration) {} }
    for _ in 0..<Self.looks {
      if let lock = try RunLock.take(folder(job), waiting: false) {
        defer { withExtendedLifetime(lock) {} }
        return try JobLedger(folder: folder(job), mayMigrate: true)
      }
      // A runner of this version migrates first of all.
      do { return try JobLedger(folder: folder(job), mayMigrate: false) } catch LedgerError.older {}
    }
    throw End(
      .alreadyRunning, "an older haul is running the job `\(job)`: its state can't be read by this one yet",
      hint: "wait for the end of that run, or use the `haul` that runs it")
  }

  /// How often an older state that a runner holds is looked at, each time for a fifth of a second.
  private static let looks = 10

  /// Takes the run lock; nil where a runner has it. The end of a command that has it is waited for.
  func lock(_ job: String, waiting: Bool) throws -> RunLock? {
    while true {
      if let lock = try RunLock.take(folder(job), waiting: waiting, remake: { try make(job) }) { return lock }
      guard CommandLock.wait(folder(job)) else {
        // The command may have ended between the two looks.
        return try RunLock.take(folder(job), waiting: waiting, remake: { try make(job) })
      }
    }
  }

  /// As `open`; what a runner that died left behind is settled first.
  package func openSettled(_ job: String) throws -> JobLedger {
    let ledger = try open(job)
    try settle(job, ledger)
    return ledger
  }

  /// A runner that died leaves `running` behind; only a lock that is held makes it true.
  func settle(_ job: String, _ ledger: JobLedger) throws {
    guard let lock = try RunLock.take(folder(job), waiting: false) else { return }
    defer { withExtendedLifetime(lock) {} }
    do { try ledger.settleInterrupted() } catch let error as LedgerError {
      throw End(error)
    }
  }

  /// Whether a runner holds the job's lock now: a command that does is none.
  func isRunning(_ job: String) throws -> Bool {
    guard try RunLock.take(folder(job), waiting: false) == nil else { return false }
    return !CommandLock.isHeld(folder(job))
  }

  /// The job that a command means: a manifest's path, or the name of a job that has state.
  package func resolve(_ argument: String, _ environment: ProcessEnvironment) throws -> String {
    let name = try jobName(of: argument, environment)
    guard exists(name) else { throw try checked().absent(name) }
    return name
  }

  /// As above, whatever state the job has.
  func jobName(of argument: String, _ environment: ProcessEnvironment) throws -> String {
    let isName = !argument.contains("/") && !argument.hasPrefix(".") && !argument.isEmpty
    if isName, exists(argument) || hasState(of: argument) && !Files.isRegular(argument) { return argument }
    guard let bytes = try? Files.read(argument) else {
      let known = try checked().everyJob
      throw End(
        .noInput, "`\(argument)` names neither a job nor a manifest",
        hint: known.isEmpty
          ? "no job has run with this state folder yet" : "known jobs: \(known.joined(separator: ", "))")
    }
    guard let name = try ManifestFile(bytes, path: argument, environment).jobName else {
      throw End(.invalidManifest, "`\(argument)` is not a valid manifest; `haul check` says why")
    }
    return name
  }

  /// The job that a manifest ran as last, whatever it says by now; nil where none is known.
  func job(of file: ManifestFile) -> String? { file.path == "-" ? nil : job(of: file.logicalPath) }

  /// The job that a manifest ran as last; nil where none is known.
  ///
  /// - Parameter manifest: its logical path.
  func job(of manifest: String) -> String? {
    let found = jobs.compactMap { job -> (name: String, startedAt: Double)? in
      guard let ledger = try? JobLedger(folder: folder(job), mayMigrate: false),
        let known = try? ledger.meta("manifest"), ByteText(known) == ByteText(manifest)
      else { return nil }
      return (job, (try? ledger.lastRun())?.startedAt ?? 0)
    }
    return found.max { $0.startedAt < $1.startedAt }?.name
  }

  /// How many reports of a job `run` keeps.
  static let keptReports = 30

  /// Keeps the newest reports and removes the others.
  func prune(_ job: String, keeping count: Int = keptReports) {
    let folder = folder(job) + "/reports"
    // ULIDs sort by time.
    let names = ((try? Files.names(in: folder)) ?? []).filter {
      $0.hasSuffix(".json")
    }
    for name in names.sorted().dropLast(count) {
      Files.remove(folder + "/" + name)
    }
  }

  func removeReport(_ job: String, run id: String) {
    Files.remove(folder(job) + "/reports/\(id).json")
  }
}
