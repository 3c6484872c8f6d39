import GRDB
import GRDBSQLite
import JobModel

/// Stores new transfers. They are bound where they lie in their batch: GRDB's arguments, a boxed value each, cost as much
/// as SQLite itself.
final class TransferInsert {
  private let db: Database
  private let statement: Statement
  private let handle: SQLiteStatement
  private let now: Double

  /// - Parameter now: seconds since 1970.
  init(_ db: Database, at now: Double) throws {
    self.db = db
    self.now = now
    statement = try db.makeStatement(
      sql: """
        INSERT INTO transfer (id, identity, profile, source, destination, takes_source_name, expect,
          known_size, state, reason, created_at) VALUES (?,?,?,?,?,?,?,?,?,?,?)
        """)
    handle = statement.sqliteStatement
  }

  /// - Parameters:
  ///   - rows: indexes in the batch.
  ///   - profiles: of each of the batch's settings.
  func insert(_ rows: Range<Int>, of batch: PlanBatch, profiles: [Int64]) throws {
    // What is bound lies in the batch, and is not to be looked at behind it.
    defer { sqlite3_clear_bindings(handle) }
    try batch.bytes.withUnsafeBytes { bytes in
      var settings: Int?
      for index in rows {
        let row = batch.rows[index]
        if settings != row.settings {
          settings = row.settings
          try bind(batch.settings[row.settings].value, profile: profiles[row.settings])
        }
        try bind(text: 1, bytes[row.start + 8..<row.id])
        try check(
          sqlite3_bind_blob(
            handle, 2, UnsafeRawBufferPointer(rebasing: bytes[row.start...]).baseAddress, 8, nil))
        try bind(text: 4, bytes[row.id..<row.source])
        try bind(text: 5, bytes[row.source..<row.destination])
        try check(sqlite3_bind_int(handle, 6, row.takesSourceName ? 1 : 0))
        if row.expect == row.destination {
          try check(sqlite3_bind_null(handle, 7))
        } else {
          try bind(text: 7, bytes[row.destination..<row.expect])
        }
        if let size = row.knownSize {
          try check(sqlite3_bind_int64(handle, 8, size))
        } else {
          try check(sqlite3_bind_null(handle, 8))
        }
        let result = sqlite3_step(handle)
        // Repeats what the step said.
        sqlite3_reset(handle)
        guard result == SQLITE_DONE else { throw db.failure(result, of: statement.sql) }
      }
    }
  }

  /// What rows with the same settings have alike stays bound from one to the next.
  private func bind(_ settings: TransferSettings, profile: Int64) throws {
    let state = TransferState.fresh(settings)
    try check(sqlite3_bind_int64(handle, 3, profile))
    try check(sqlite3_bind_double(handle, 11, now))
    try bind(copying: state.word, 9)
    if let reason = state.reason {
      try bind(copying: reason, 10)
    } else {
      try check(sqlite3_bind_null(handle, 10))
    }
  }

  private func bind(copying text: String, _ index: CInt) throws {
    // SQLite's SQLITE_TRANSIENT.
    let copies = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
    try check(sqlite3_bind_text(handle, index, text, -1, copies))
  }

  private func bind(text index: CInt, _ text: Slice<UnsafeRawBufferPointer>) throws {
    let bytes = UnsafeRawBufferPointer(rebasing: text)
    // A null pointer would be no text at all.
    let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
    try check(sqlite3_bind_text(handle, index, start, CInt(bytes.count), nil))
  }

  private func check(_ result: CInt) throws {
    guard result == SQLITE_OK else { throw db.failure(result, of: statement.sql) }
  }
}
