/// A value as SQLite has it.
package enum DatabaseValue: Sendable, Hashable {
  case null
  case integer(Int64)
  case real(Double)
  case text(String)
  case blob([UInt8])
}

/// A type whose values can be bound to a statement.
package protocol DatabaseValueConvertible {
  var databaseValue: DatabaseValue { get }
}

extension Int: DatabaseValueConvertible { package var databaseValue: DatabaseValue { .integer(Int64(self)) } }
extension Int32: DatabaseValueConvertible {
  package var databaseValue: DatabaseValue { .integer(Int64(self)) }
}
extension Int64: DatabaseValueConvertible { package var databaseValue: DatabaseValue { .integer(self) } }
extension Bool: DatabaseValueConvertible {
  package var databaseValue: DatabaseValue { .integer(self ? 1 : 0) }
}
extension Double: DatabaseValueConvertible { package var databaseValue: DatabaseValue { .real(self) } }
extension String: DatabaseValueConvertible { package var databaseValue: DatabaseValue { .text(self) } }
extension [UInt8]: DatabaseValueConvertible { package var databaseValue: DatabaseValue { .blob(self) } }

/// A statement's parameters, in order.
package struct StatementArguments: ExpressibleByArrayLiteral {
  let values: [DatabaseValue]

  init(_ values: [DatabaseValue]) { self.values = values }

  package init(arrayLiteral elements: (any DatabaseValueConvertible)?...) {
    values = elements.map { $0?.databaseValue ?? .null }
  }
}
