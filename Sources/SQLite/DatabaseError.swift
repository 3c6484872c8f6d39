import CSQLite

/// An error of SQLite, with its extended code.
package struct DatabaseError: Error, Sendable, Hashable, CustomStringConvertible {
  package let extendedResultCode: ResultCode
  package let message: String
  /// The statement that failed.
  package let sql: String?

  /// - Parameter message: SQLite's text for the code where nil.
  package init(_ code: ResultCode, _ message: String? = nil, sql: String? = nil) {
    extendedResultCode = code
    self.message = message ?? String(cString: sqlite3_errstr(code.rawValue))
    self.sql = sql
  }

  /// The primary code.
  package var resultCode: ResultCode { extendedResultCode.primary }

  package var description: String {
    "SQLite error \(extendedResultCode.rawValue): \(message)" + (sql.map { " in `\($0)`" } ?? "")
  }
}
