import CSQLite

/// A result code of SQLite, primary or extended.
package struct ResultCode: Sendable, Hashable {
  package let rawValue: Int32

  package init(rawValue: Int32) { self.rawValue = rawValue }

  package static let abort = ResultCode(rawValue: SQLITE_ABORT)
  package static let busy = ResultCode(rawValue: SQLITE_BUSY)
  package static let readOnly = ResultCode(rawValue: SQLITE_READONLY)
  package static let corrupt = ResultCode(rawValue: SQLITE_CORRUPT)
  package static let full = ResultCode(rawValue: SQLITE_FULL)
  package static let cannotOpen = ResultCode(rawValue: SQLITE_CANTOPEN)
  package static let constraint = ResultCode(rawValue: SQLITE_CONSTRAINT)
  package static let misuse = ResultCode(rawValue: SQLITE_MISUSE)
  package static let notADatabase = ResultCode(rawValue: SQLITE_NOTADB)
  /// SQLITE_READONLY_ROLLBACK: a journal must be rolled back, and the connection may not write.
  package static let readOnlyRollback = ResultCode(rawValue: SQLITE_READONLY | (3 << 8))

  /// The code without what an extended one adds.
  package var primary: ResultCode { ResultCode(rawValue: rawValue & 0xff) }
}
