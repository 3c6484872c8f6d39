/// One execution of a statement: reset when neither its cursor nor a row needs it any more.
final class Execution {
  let statement: Statement
  private let number: Int

  init(_ statement: Statement, _ arguments: StatementArguments) throws {
    try statement.begin(arguments)
    self.statement = statement
    number = statement.execution
  }

  /// False once the statement was begun again for somebody else.
  var isCurrent: Bool { number == statement.execution }

  deinit { statement.end(number) }
}

/// The rows of a result, one at a time.
package final class Cursor<Element> {
  private var execution: Execution?
  private let element: (Row) -> Element

  fileprivate init(_ execution: Execution, _ element: @escaping (Row) -> Element) {
    self.execution = execution
    self.element = element
  }

  /// - Throws: `DatabaseError`; there is nothing more behind it.
  package func next() throws -> Element? {
    guard let execution else { return nil }
    guard execution.isCurrent else { throw DatabaseError(.misuse, "the statement was begun again meanwhile") }
    do {
      if try execution.statement.step() { return element(Row(.current(execution))) }
    } catch {
      self.execution = nil
      throw error
    }
    self.execution = nil
    return nil
  }

  package func map<Other>(_ transform: (Element) throws -> Other) throws -> [Other] {
    var found: [Other] = []
    while let next = try next() { found.append(try transform(next)) }
    return found
  }
}

extension Row {
  package static func fetchCursor(
    _ statement: Statement, arguments: StatementArguments = []
  ) throws -> Cursor<Row> {
    Cursor(try Execution(statement, arguments)) { $0 }
  }

  package static func fetchCursor(
    _ db: Database, sql: String, arguments: StatementArguments = []
  ) throws -> Cursor<Row> {
    try fetchCursor(db.makeStatement(sql: sql), arguments: arguments)
  }

  package static func fetchAll(
    _ statement: Statement, arguments: StatementArguments = []
  ) throws -> [Row] {
    try fetchCursor(statement, arguments: arguments).map { $0.copy() }
  }

  package static func fetchAll(
    _ db: Database, sql: String, arguments: StatementArguments = []
  ) throws -> [Row] {
    try fetchAll(db.makeStatement(sql: sql), arguments: arguments)
  }

  package static func fetchOne(_ statement: Statement, arguments: StatementArguments = []) throws -> Row? {
    try fetchCursor(statement, arguments: arguments).next()?.copy()
  }

  package static func fetchOne(
    _ db: Database, sql: String, arguments: StatementArguments = []
  ) throws -> Row? {
    try fetchOne(db.makeStatement(sql: sql), arguments: arguments)
  }
}

extension ColumnValue {
  /// The first column of each row.
  package static func fetchCursor(
    _ db: Database, sql: String, arguments: StatementArguments = []
  ) throws -> Cursor<Self> {
    Cursor(try Execution(db.makeStatement(sql: sql), arguments)) { Self.read($0, 0) }
  }

  package static func fetchAll(
    _ db: Database, sql: String, arguments: StatementArguments = []
  ) throws -> [Self] {
    try fetchCursor(db, sql: sql, arguments: arguments).map { $0 }
  }

  /// The first column of the first row; nil where there is none, or where it is NULL.
  package static func fetchOne(_ statement: Statement, arguments: StatementArguments = []) throws -> Self? {
    guard let row = try Row.fetchCursor(statement, arguments: arguments).next() else { return nil }
    return row[0]
  }

  package static func fetchOne(
    _ db: Database, sql: String, arguments: StatementArguments = []
  ) throws -> Self? {
    try fetchOne(db.makeStatement(sql: sql), arguments: arguments)
  }
}
