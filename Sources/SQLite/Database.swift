import CSQLite

/// A connection to a database file. One thread at a time may use it.
package final class Database {
  package enum Access: Sendable {
    case readOnly
    /// Reads a file that nobody writes: no lock is taken, and no file is made beside it.
    case immutable
    /// Makes the file where there is none.
    case readWrite
  }

  private let handle: ConnectionHandle
  private var cache: [String: Statement] = [:]

  /// Opens a database: foreign keys on, double-quoted strings off.
  ///
  /// - Parameter busyTimeout: seconds to wait for locks of other connections.
  /// - Throws: `DatabaseError`, also where the file is not a database.
  package init(path: String, _ access: Access = .readWrite, busyTimeout: Double = 10) throws {
    let flags =
      switch access {
      case .readOnly: SQLITE_OPEN_READONLY
      case .immutable: SQLITE_OPEN_READONLY | SQLITE_OPEN_URI
      case .readWrite: SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE
      }
    handle = try ConnectionHandle(
      path: access == .immutable ? Self.uri(path) + "?immutable=1" : path, flags: flags)
    sqlite3_busy_timeout(handle.pointer, Int32(busyTimeout * 1000))
    try handle.check(haul_sqlite_forbid_quoted_strings(handle.pointer))
    try execute(sql: "PRAGMA foreign_keys = ON")
    // SQLite opens a file when it is first asked for: what is wrong with it is said here.
    try execute(sql: "SELECT 1 FROM sqlite_master LIMIT 1")
  }

  /// The path as a URI, in which `?`, `#` and `%` would mean something else (sqlite.org/uri.html).
  private static func uri(_ path: String) -> String {
    path.utf8.reduce(into: "file:") { text, byte in
      let isPlain = (48...57).contains(byte) || (65...90).contains(byte) || (97...122).contains(byte)
      let hex = String(byte, radix: 16)
      text +=
        isPlain || byte == UInt8(ascii: "/") ? String(UnicodeScalar(byte)) : (byte < 16 ? "%0" : "%") + hex
    }
  }

  /// Closes the connection before its last reference is gone.
  ///
  /// - Throws: `DatabaseError` (busy) where a statement is still in use.
  package func close() throws {
    cache = [:]
    try handle.close()
  }

  package func makeStatement(sql: String) throws -> Statement {
    guard let statement = try Statement.first(of: sql, handle, isKept: false)?.statement else {
      throw DatabaseError(.misuse, "the statement is empty", sql: sql)
    }
    return statement
  }

  /// The statement of this text; it is prepared once, and reset when it is used again.
  package func cachedStatement(sql: String) throws -> Statement {
    if let known = cache[sql] { return known }
    guard let statement = try Statement.first(of: sql, handle, isKept: true)?.statement else {
      throw DatabaseError(.misuse, "the statement is empty", sql: sql)
    }
    cache[sql] = statement
    return statement
  }

  /// Runs one or several statements; each takes as many of the arguments as it has parameters.
  package func execute(sql: String, arguments: StatementArguments = []) throws {
    var rest = sql
    var values = arguments.values[...]
    while let (statement, tail) = try Statement.first(of: rest, handle, isKept: false) {
      let count = min(statement.parameterCount, values.count)
      try statement.execute(arguments: StatementArguments(Array(values.prefix(count))))
      values = values.dropFirst(count)
      rest = tail
    }
    guard values.isEmpty else { throw DatabaseError(.misuse, "too many arguments", sql: sql) }
  }

  /// Runs a statement that gives no rows; it is prepared once.
  package func run(_ sql: String, _ bind: (inout Binding) -> Void) throws {
    try cachedStatement(sql: sql).run(bind)
  }

  /// Runs `body` in a transaction: all of it is committed, or nothing where it throws.
  ///
  /// - Throws: what `body` throws, or why it could not be committed.
  package func transaction<Value>(
    _ kind: TransactionKind = .immediate, _ body: () throws -> Value
  ) throws -> Value {
    // SQLite opens a file that can't be written as one to read, and takes no write lock on it.
    if kind == .immediate, sqlite3_db_readonly(handle.pointer, "main") != 0 {
      throw DatabaseError(.readOnly)
    }
    try cachedStatement(sql: kind.sql).execute()
    handle.isInTransaction = true
    do {
      let value = try body()
      try cachedStatement(sql: "COMMIT").execute()
      handle.isInTransaction = false
      return value
    } catch {
      handle.isInTransaction = false
      if sqlite3_get_autocommit(handle.pointer) == 0 {
        // The first error is the one that says what happened.
        try? cachedStatement(sql: "ROLLBACK").execute()
      }
      throw error
    }
  }

  /// Has the file keep a write-ahead log: readers then see a snapshot while another connection writes.
  package func useWAL() throws {
    guard try String.fetchOne(self, sql: "PRAGMA journal_mode = WAL") == "wal" else {
      throw DatabaseError(.cannotOpen, "the write-ahead log can't be used")
    }
  }

  /// Writes the whole log back into the file, syncs it and empties the log.
  package func checkpoint() throws {
    try handle.check(
      sqlite3_wal_checkpoint_v2(handle.pointer, nil, SQLITE_CHECKPOINT_TRUNCATE, nil, nil))
  }

  /// Copies the whole database, as this connection's transaction sees it, over what another one has.
  package func copy(to other: Database) throws {
    guard let backup = sqlite3_backup_init(other.handle.pointer, "main", handle.pointer, "main") else {
      throw other.handle.error(sqlite3_errcode(other.handle.pointer))
    }
    // -1: all pages in one step.
    let result = sqlite3_backup_step(backup, -1)
    let end = sqlite3_backup_finish(backup)
    guard result == SQLITE_DONE else { throw other.handle.error(result) }
    try other.handle.check(end)
  }

  package var lastInsertedRowID: Int64 { sqlite3_last_insert_rowid(handle.pointer) }

  /// Rows that the last statement changed.
  package var changesCount: Int { Int(sqlite3_changes64(handle.pointer)) }

  /// Rows that were changed since the connection was opened.
  package var totalChangesCount: Int64 { sqlite3_total_changes64(handle.pointer) }
}

package enum TransactionKind: Sendable {
  /// Takes no lock before it needs one: a reader's snapshot begins with its first read.
  case deferred
  /// Takes the write lock at once.
  case immediate

  var sql: String {
    switch self {
    case .deferred: "BEGIN DEFERRED"
    case .immediate: "BEGIN IMMEDIATE"
    }
  }
}
