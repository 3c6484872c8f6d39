import CSQLite

/// A `sqlite3` pointer, closed when the connection and all of its statements are gone.
final class ConnectionHandle {
  private(set) var pointer: OpaquePointer?
  /// A transaction that `Database.transaction` began and has not ended.
  var isInTransaction = false

  /// Opens a file; SQLite's own mutexes are off, as one thread at a time uses a connection.
  init(path: String, flags: Int32) throws {
    _ = Self.countsNoMemory
    let result = sqlite3_open_v2(path, &pointer, flags | SQLITE_OPEN_NOMUTEX, nil)
    sqlite3_extended_result_codes(pointer, 1)
    guard result == SQLITE_OK else {
      let code = sqlite3_extended_errcode(pointer)
      let error = DatabaseError(ResultCode(rawValue: code == SQLITE_OK ? result : code))
      sqlite3_close_v2(pointer)
      pointer = nil
      throw error
    }
  }

  /// Nobody asks SQLite for its use of memory, and counting it takes a lock of the process for each allocation.
  private static let countsNoMemory = haul_sqlite_count_no_memory()

  deinit { sqlite3_close_v2(pointer) }

  /// - Throws: `DatabaseError` (busy) where a statement is still in use.
  func close() throws {
    let result = sqlite3_close(pointer)
    guard result == SQLITE_OK else { throw error(result) }
    pointer = nil
  }

  /// Whether SQLite itself ended the transaction: it rolls back on some errors, as of a full disk.
  var hasLostTransaction: Bool { isInTransaction && sqlite3_get_autocommit(pointer) != 0 }

  func error(_ result: Int32, _ sql: @autoclosure () -> String? = nil) -> DatabaseError {
    guard let pointer else { return DatabaseError(.misuse, "the connection is closed", sql: sql()) }
    return DatabaseError(ResultCode(rawValue: result), String(cString: sqlite3_errmsg(pointer)), sql: sql())
  }

  func check(_ result: Int32, _ sql: @autoclosure () -> String? = nil) throws {
    guard result == SQLITE_OK else { throw error(result, sql()) }
  }
}
