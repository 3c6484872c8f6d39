import GRDB
import GRDBSQLite

/// A statement's values, bound in order: GRDB's arguments, a boxed value each, cost as much as SQLite itself.
struct Binding {
  fileprivate let handle: SQLiteStatement
  private var index: CInt = 0
  fileprivate var result = SQLITE_OK

  fileprivate init(_ handle: SQLiteStatement) { self.handle = handle }

  mutating func add(_ value: Int64?) {
    note { handle, index in
      value.map { sqlite3_bind_int64(handle, index, $0) } ?? sqlite3_bind_null(handle, index)
    }
  }

  mutating func add(_ value: Int?) { add(value.map { Int64($0) }) }

  mutating func add(_ value: Bool) { add(value ? 1 : 0 as Int64) }

  mutating func add(_ value: Double?) {
    note { handle, index in
      value.map { sqlite3_bind_double(handle, index, $0) } ?? sqlite3_bind_null(handle, index)
    }
  }

  mutating func add(_ value: String?) {
    note { handle, index in
      guard var value else { return sqlite3_bind_null(handle, index) }
      return value.withUTF8 { text in
        // SQLite's SQLITE_TRANSIENT: it keeps a copy.
        let copies = unsafeBitCast(-1, to: sqlite3_destructor_type.self)
        // A null pointer would be no text at all.
        guard let start = text.baseAddress else { return sqlite3_bind_text(handle, index, "", 0, copies) }
        return start.withMemoryRebound(to: CChar.self, capacity: text.count) {
          sqlite3_bind_text(handle, index, $0, CInt(text.count), copies)
        }
      }
    }
  }

  private mutating func note(_ bind: (SQLiteStatement, CInt) -> CInt) {
    index += 1
    let code = bind(handle, index)
    if result == SQLITE_OK { result = code }
  }
}

extension Database {
  /// Runs a statement that gives no rows; it is prepared once.
  ///
  /// - Throws: `DatabaseError`.
  func run(_ sql: String, _ bind: (inout Binding) -> Void) throws {
    try run(try cachedStatement(sql: sql), bind)
  }

  func run(_ statement: Statement, _ bind: (inout Binding) -> Void) throws {
    var binding = Binding(statement.sqliteStatement)
    bind(&binding)
    if binding.result == SQLITE_OK {
      binding.result = sqlite3_step(binding.handle)
      // Repeats what the step said.
      sqlite3_reset(binding.handle)
    }
    guard binding.result == SQLITE_DONE else {
      throw failure(binding.result, of: statement.sql)
    }
  }

  /// What SQLite said about a statement that it did not run.
  func failure(_ result: CInt, of sql: String) -> DatabaseError {
    DatabaseError(resultCode: ResultCode(rawValue: result), message: lastErrorMessage, sql: sql)
  }
}
