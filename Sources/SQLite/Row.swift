import CSQLite

/// A row of a result: where its cursor stands, or a copy.
///
/// A value of another type is converted. NULL where the reader takes none is damage of the file, which no check of SQLite
/// shows: the process ends rather than go on with a 0 or an empty text.
package struct Row {
  enum Storage {
    /// Of use until the cursor goes on.
    case current(Execution)
    case copy([DatabaseValue], names: [String])
  }

  let storage: Storage

  init(_ storage: Storage) { self.storage = storage }

  func copy() -> Row {
    guard case .current(let execution) = storage else { return self }
    let names = execution.statement.columnNames
    return Row(.copy(names.indices.map { execution.statement.value($0) }, names: names))
  }

  package func isNull(_ index: Int) -> Bool {
    switch storage {
    case .current(let execution):
      sqlite3_column_type(execution.statement.pointer, Int32(index)) == SQLITE_NULL
    case .copy(let values, _): values[index] == .null
    }
  }

  package func index(_ name: String) -> Int {
    let names =
      switch storage {
      case .current(let execution): execution.statement.columnNames
      case .copy(_, let names): names
      }
    guard let index = names.firstIndex(of: name) else { preconditionFailure("no column `\(name)`") }
    return index
  }

  package subscript<Value: ColumnValue>(index: Int) -> Value {
    precondition(!isNull(index), "column \(index) is NULL, and must not be")
    return Value.read(self, index)
  }

  @inlinable package subscript<Value: ColumnValue>(index: Int) -> Value? {
    isNull(index) ? nil : Value.read(self, index)
  }

  package subscript<Value: ColumnValue>(name: String) -> Value { self[index(name)] }

  @inlinable package subscript<Value: ColumnValue>(name: String) -> Value? { self[index(name)] }
}

extension Statement {
  func value(_ index: Int) -> DatabaseValue {
    switch sqlite3_column_type(pointer, Int32(index)) {
    case SQLITE_INTEGER: .integer(sqlite3_column_int64(pointer, Int32(index)))
    case SQLITE_FLOAT: .real(sqlite3_column_double(pointer, Int32(index)))
    case SQLITE_TEXT: .text(text(index))
    case SQLITE_BLOB: .blob(blob(index))
    default: .null
    }
  }

  func text(_ index: Int) -> String {
    guard let start = sqlite3_column_text(pointer, Int32(index)) else { return "" }
    let count = Int(sqlite3_column_bytes(pointer, Int32(index)))
    return String(decoding: UnsafeBufferPointer(start: start, count: count), as: UTF8.self)
  }

  func blob(_ index: Int) -> [UInt8] {
    guard let start = sqlite3_column_blob(pointer, Int32(index)) else { return [] }
    return Array(
      UnsafeRawBufferPointer(start: start, count: Int(sqlite3_column_bytes(pointer, Int32(index)))))
  }
}
