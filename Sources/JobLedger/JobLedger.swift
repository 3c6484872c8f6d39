import Glibc
import JobModel
import Posix
import SQLite

/// The plan of one job and its progress, in `plan.sqlite` (SQLite, WAL, mode 0600).
///
/// One process at a time writes it (the run lock sees to that); others may read.
package final class JobLedger: Sendable {
  /// The file's path.
  package let path: String
  /// Random, made with the ledger: what the names of part files are made from.
  package let partKey: String
  let pool: DatabasePool
  private let tally: CommitTally

  /// Opens the ledger of a job's folder, making it where there is none.
  ///
  /// - Parameters:
  ///   - mayMigrate: the caller holds the run lock: a runner's tables are never changed under it.
  ///   - isDraft: it need not outlive a crash: commits are not synced.
  /// - Throws: `LedgerError`, where it is damaged, newer, or can't be written; older, where it may not be migrated.
  package init(folder: String, mayMigrate: Bool, isDraft: Bool = false) throws {
    path = folder + "/plan.sqlite"
    let isNew = !Files.exists(path)
    tally = CommitTally(folder: folder)
    // Before anything is read of the plan: another process may commit meanwhile.
    let commits = try tally.read()
    do {
      if isNew {
        // A log that was left behind would be played into the new file.
        guard commits == nil, !Files.exists(path + "-wal") else {
          throw LedgerError.unreadable(
            path: path, detail: "it is gone, while files beside it are still there")
        }
        try Self.make(path)
      }
      // SQLite takes an empty file for a new database, and removes the log beside it: a silent start from nothing.
      var status = stat()
      if stat(path, &status) == 0, status.st_size == 0 {
        throw LedgerError.unreadable(path: path, detail: "it is empty")
      }
      let (isOlder, inspected) = try Self.inspect(path, commits: commits)
      guard mayMigrate || !isOlder else { throw LedgerError.older(path: path) }
      pool = try DatabasePool(path: path, readers: 3) { reader in
        // Readers go from page to page, of a plan of any length: SQLite's 2 MiB for each would hold what none asks for again.
        try reader.execute(sql: "PRAGMA cache_size = -512")
      }
      // Not before: who opens a ledger that nobody has open reads its whole log.
      try inspected.close()
      // An intended promotion must be on disk before its rename can be: NORMAL would not promise that.
      try pool.writeWithoutTransaction { db in
        try db.execute(sql: "PRAGMA synchronous = \(isDraft ? "OFF" : "FULL")")
      }
      if isOlder { try pool.writeWithoutTransaction { db in try Schema.migrator.migrate(db) } }
      partKey =
        try pool.read { db in try String.fetchOne(db, sql: "SELECT value FROM meta WHERE name = 'part_key'") }
        ?? ""
      if isNew { try? Files.sync(folder) }
    } catch let error as DatabaseError {
      throw LedgerError.from(error, path: path)
    }
  }

  /// Writes the log back into the main file and syncs it.
  package func checkpoint() throws {
    try guarded {
      try pool.writeWithoutTransaction { db in try db.checkpoint() }
    }
  }

  /// Runs a read on a connection of its own.
  func read<Value>(_ body: (Database) throws -> Value) throws -> Value {
    try guarded { try pool.read(body) }
  }

  func write<Value>(_ body: (Database) throws -> Value) throws -> Value {
    try guarded {
      let (value, commits) = try pool.write { db in
        let before = db.totalChangesCount
        let value = try body(db)
        // What changes no row is no commit: SQLite writes nothing.
        return (value, db.totalChangesCount == before ? nil : try CommitTally.increment(db))
      }
      if let commits { try tally.write(commits) }
      return value
    }
  }

  private func guarded<Value>(_ body: () throws -> Value) throws -> Value {
    do { return try body() } catch let error as DatabaseError { throw LedgerError.from(error, path: path) }
  }

  /// Refuses what can't be gone on from. Read-only: what is refused is left as it is, its log included.
  ///
  /// - Returns: whether its tables are those of an older haul; the connection that told it.
  private static func inspect(_ path: String, commits: Int64?) throws -> (isOlder: Bool, Database) {
    func look() throws -> (applied: Set<String>, held: Int64, Database) {
      let db = try Database(path: path, .readOnly)
      return try db.transaction(.deferred) {
        (try Schema.migrator.appliedIdentifiers(db), commits == nil ? 0 : try CommitTally.count(db), db)
      }
    }
    let (applied, held, db): (Set<String>, Int64, Database)
    do {
      (applied, held, db) = try look()
    } catch let error as DatabaseError where error.extendedResultCode == .readOnlyRollback {
      // An older haul was killed while it changed the file to have a log: only a writer may play its journal back.
      try Database(path: path).close()
      (applied, held, db) = try look()
    }
    guard applied.isSubset(of: Set(Schema.migrator.migrations)) else { throw LedgerError.newer(path: path) }
    if let commits, held < commits { throw LedgerError.behind(path: path, commits: commits - held) }
    return (applied.count < Schema.migrator.migrations.count, db)
  }

  /// Makes the tables in a file of another name first, and has it keep a log: under its own name, the file is never
  /// seen half made, and never has a journal to be played back.
  private static func make(_ path: String) throws {
    let draft = path + ".new"
    for ending in ["", "-journal", "-wal", "-shm"] { unlink(draft + ending) }
    // SQLite gives its journal files the mode of the database file.
    let descriptor = open(draft, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw LedgerError.unwritable(path: path, detail: "\(SystemError())") }
    Glibc.close(descriptor)
    let db = try Database(path: draft)
    // Nobody needs a half made one: it reaches the disk once, as a whole.
    try db.execute(sql: "PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF")
    try Schema.migrator.migrate(db)
    try db.useWAL()
    try db.close()
    do { try Files.sync(draft) } catch { throw LedgerError.unwritable(path: path, detail: "\(error)") }
    guard rename(draft, path) == 0 else {
      throw LedgerError.unwritable(path: path, detail: "\(SystemError())")
    }
  }
}

extension LedgerError {
  static func from(_ error: DatabaseError, path: String) -> LedgerError {
    switch error.resultCode {
    case .corrupt, .notADatabase: .unreadable(path: path, detail: error.message)
    case .cannotOpen: .unwritable(path: path, detail: error.message + refusal(of: path))
    case .busy: .busy(path: path)
    default: .unwritable(path: path, detail: error.message)
    }
  }

  /// Why nothing can be made beside the file; SQLite does not say.
  private static func refusal(of path: String) -> String {
    let folder = PathParts(path).parent
    return access(folder, W_OK) == 0 ? "" : ": " + "\(SystemError())"
  }
}

extension JobLedger {
  /// A fact of the job by its name; nil where it was never set.
  package func meta(_ name: String) throws -> String? {
    try read { db in try String.fetchOne(db, sql: "SELECT value FROM meta WHERE name = ?", arguments: [name])
    }
  }

  /// Sets a fact of the job, over an older one.
  package func setMeta(_ name: String, _ value: String) throws {
    try write { db in
      try db.execute(
        sql: """
          INSERT INTO meta VALUES (?, ?)
          ON CONFLICT (name) DO UPDATE SET value = excluded.value WHERE value IS NOT excluded.value
          """,
        arguments: [name, value])
    }
  }
}
