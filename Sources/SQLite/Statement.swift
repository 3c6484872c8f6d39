import CSQLite

/// A prepared statement. It keeps its connection open.
package final class Statement {
  let handle: ConnectionHandle
  let pointer: OpaquePointer
  /// Counts executions: the end of an older one does not reset a newer one.
  private(set) var execution = 0
  private(set) lazy var columnNames = (0..<sqlite3_column_count(pointer)).map {
    sqlite3_column_name(pointer, $0).map { String(cString: $0) } ?? ""
  }

  private init(_ pointer: OpaquePointer, _ handle: ConnectionHandle) {
    self.pointer = pointer
    self.handle = handle
  }

  deinit { sqlite3_finalize(pointer) }

  /// Prepares the first statement of a text.
  ///
  /// - Parameter isKept: it will be used for long: SQLite takes its memory from elsewhere.
  /// - Returns: the statement and the text behind it; nil where there are only spaces and comments.
  static func first(
    of sql: String, _ handle: ConnectionHandle, isKept: Bool
  ) throws -> (statement: Statement, rest: String)? {
    try sql.withCString { text in
      var start = text
      while start.pointee != 0 {
        var (pointer, tail): (OpaquePointer?, UnsafePointer<CChar>?)
        let flags = isKept ? UInt32(SQLITE_PREPARE_PERSISTENT) : 0
        try handle.check(sqlite3_prepare_v3(handle.pointer, start, -1, flags, &pointer, &tail), sql)
        guard let tail else { return nil }
        if let pointer { return (Statement(pointer, handle), String(cString: tail)) }
        // A comment or a semicolon alone.
        start = tail
      }
      return nil
    }
  }

  package var sql: String { sqlite3_sql(pointer).map { String(cString: $0) } ?? "" }

  var parameterCount: Int { Int(sqlite3_bind_parameter_count(pointer)) }

  /// Runs it to its end; rows that it gives are passed over.
  package func execute(arguments: StatementArguments = []) throws {
    try begin(arguments)
    defer { sqlite3_reset(pointer) }
    while try step() {}
  }

  /// Runs a statement that gives no rows.
  package func run(_ bind: (inout Binding) -> Void) throws {
    try begin()
    defer { sqlite3_reset(pointer) }
    var binding = Binding(pointer)
    bind(&binding)
    try handle.check(binding.result, sql)
    while try step() {}
  }

  /// Makes it ready to run from its start.
  func begin(_ arguments: StatementArguments) throws {
    guard arguments.values.count == parameterCount else {
      throw DatabaseError(
        .misuse, "\(arguments.values.count) arguments for \(parameterCount) parameters", sql: sql)
    }
    try begin()
    var binding = Binding(pointer)
    for value in arguments.values { binding.add(value) }
    try handle.check(binding.result, sql)
  }

  func begin() throws {
    execution += 1
    sqlite3_reset(pointer)
    // Without its transaction it would be committed alone.
    guard !handle.hasLostTransaction else {
      throw DatabaseError(.abort, "the transaction was rolled back", sql: sql)
    }
  }

  /// - Returns: whether there is a row.
  func step() throws -> Bool {
    let result = sqlite3_step(pointer)
    switch result {
    case SQLITE_ROW: return true
    case SQLITE_DONE: return false
    default:
      let error = handle.error(result, sql)
      sqlite3_reset(pointer)
      throw error
    }
  }

  /// Ends an execution, unless it has been begun again.
  func end(_ execution: Int) {
    if execution == self.execution { sqlite3_reset(pointer) }
  }
}
