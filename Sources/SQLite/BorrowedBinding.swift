import CSQLite

/// A statement's parameters by number, from 1, whose texts and blobs are ranges of bytes that are bound where they lie.
package struct BorrowedBinding {
  private let statement: Statement
  private let bytes: UnsafeRawBufferPointer

  fileprivate init(_ statement: Statement, _ bytes: UnsafeRawBufferPointer) {
    self.statement = statement
    self.bytes = bytes
  }

  package func bind(text range: Range<Int>, at index: Int32) throws {
    let part = UnsafeRawBufferPointer(rebasing: bytes[range])
    try check(SQLite.bind(text: part, statement.pointer, index, copied: false))
  }

  package func bind(blob range: Range<Int>, at index: Int32) throws {
    let part = UnsafeRawBufferPointer(rebasing: bytes[range])
    try check(SQLite.bind(blob: part, statement.pointer, index, copied: false))
  }

  /// SQLite keeps a copy of the text.
  package func bind(_ text: String?, at index: Int32) throws {
    guard var text else { return try check(sqlite3_bind_null(statement.pointer, index)) }
    try check(
      text.withUTF8 {
        SQLite.bind(text: UnsafeRawBufferPointer($0), statement.pointer, index, copied: true)
      })
  }

  package func bind(_ value: Int64?, at index: Int32) throws {
    try check(
      value.map { sqlite3_bind_int64(statement.pointer, index, $0) }
        ?? sqlite3_bind_null(statement.pointer, index))
  }

  package func bind(_ value: Double, at index: Int32) throws {
    try check(sqlite3_bind_double(statement.pointer, index, value))
  }

  /// Runs the statement, which gives no rows; what is bound stays bound.
  package func run() throws {
    try statement.begin()
    defer { sqlite3_reset(statement.pointer) }
    while try statement.step() {}
  }

  /// Runs the statement up to its first row; what is bound stays bound.
  ///
  /// - Returns: whether there is a row.
  package func hasRow() throws -> Bool {
    try statement.begin()
    defer { sqlite3_reset(statement.pointer) }
    return try statement.step()
  }

  private func check(_ result: Int32) throws { try statement.handle.check(result) }
}

extension Statement {
  /// Calls `body` with a binding to ranges of these bytes; nothing stays bound when it returns.
  package func withBinding(to bytes: [UInt8], _ body: (BorrowedBinding) throws -> Void) throws {
    defer {
      sqlite3_reset(pointer)
      sqlite3_clear_bindings(pointer)
    }
    try bytes.withUnsafeBytes { try body(BorrowedBinding(self, $0)) }
  }
}
