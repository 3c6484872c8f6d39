import CSQLite

/// A type that a row's column can be read as.
package protocol ColumnValue {
  /// - Parameter index: the column's number, from 0.
  static func read(_ row: Row, _ index: Int) -> Self
}

extension Int64: ColumnValue {
  package static func read(_ row: Row, _ index: Int) -> Int64 {
    switch row.storage {
    case .current(let execution): sqlite3_column_int64(execution.statement.pointer, Int32(index))
    case .copy(let values, _):
      switch values[index] {
      case .integer(let value): value
      case .real(let value): Int64(exactly: value.rounded(.towardZero)) ?? (value < 0 ? .min : .max)
      case .text(let text): Int64(text) ?? 0
      case .null, .blob: 0
      }
    }
  }
}

extension Int: ColumnValue {
  package static func read(_ row: Row, _ index: Int) -> Int { Int(Int64.read(row, index)) }
}

extension Bool: ColumnValue {
  package static func read(_ row: Row, _ index: Int) -> Bool { Int64.read(row, index) != 0 }
}

extension Double: ColumnValue {
  package static func read(_ row: Row, _ index: Int) -> Double {
    switch row.storage {
    case .current(let execution): sqlite3_column_double(execution.statement.pointer, Int32(index))
    case .copy(let values, _):
      switch values[index] {
      case .integer(let value): Double(value)
      case .real(let value): value
      case .text(let text): Double(text) ?? 0
      case .null, .blob: 0
      }
    }
  }
}

extension String: ColumnValue {
  package static func read(_ row: Row, _ index: Int) -> String {
    switch row.storage {
    case .current(let execution): execution.statement.text(index)
    case .copy(let values, _):
      switch values[index] {
      case .text(let text): text
      case .integer(let value): String(value)
      case .real(let value): String(value)
      case .blob(let bytes): String(decoding: bytes, as: UTF8.self)
      case .null: ""
      }
    }
  }
}

extension [UInt8]: ColumnValue {
  package static func read(_ row: Row, _ index: Int) -> [UInt8] {
    switch row.storage {
    case .current(let execution): execution.statement.blob(index)
    case .copy(let values, _):
      switch values[index] {
      case .blob(let bytes): bytes
      case .text(let text): Array(text.utf8)
      case .null, .integer, .real: []
      }
    }
  }
}
