/// Brings a database's tables up to date, by named steps in order.
///
/// The names of those that were applied stand in `grdb_migrations`, the table of the library that haul used first: states
/// of all versions go on.
package struct Migrator {
  private struct Migration {
    let name: String
    let body: (Database) throws -> Void
  }

  private var steps: [Migration] = []

  package init() {}

  /// Their names, in order.
  package var migrations: [String] { steps.map(\.name) }

  package mutating func registerMigration(_ name: String, _ body: @escaping (Database) throws -> Void) {
    steps.append(Migration(name: name, body: body))
  }

  /// The names of all that were applied, also by a newer version.
  package func appliedIdentifiers(_ db: Database) throws -> Set<String> {
    guard
      try Int.fetchOne(
        db, sql: "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'grdb_migrations'") != nil
    else { return [] }
    return Set(try String.fetchAll(db, sql: "SELECT identifier FROM grdb_migrations"))
  }

  /// Applies what has not been applied, each step in a transaction of its own.
  ///
  /// - Parameter last: the last step to apply; all where nil.
  /// - Throws: `DatabaseError`, also where a step leaves a foreign key without its row.
  package func migrate(_ db: Database, upTo last: String? = nil) throws {
    try db.execute(
      sql: "CREATE TABLE IF NOT EXISTS grdb_migrations (identifier TEXT NOT NULL PRIMARY KEY)")
    let applied = try appliedIdentifiers(db)
    // A table that is made anew would take with it the rows that refer to it. SQLite ignores the pragma in a transaction.
    try db.execute(sql: "PRAGMA foreign_keys = OFF")
    let result = Result {
      for step in steps {
        if !applied.contains(step.name) { try apply(step, db) }
        if step.name == last { break }
      }
    }
    try db.execute(sql: "PRAGMA foreign_keys = ON")
    try result.get()
  }

  private func apply(_ step: Migration, _ db: Database) throws {
    try db.transaction {
      try step.body(db)
      if let row = try Row.fetchOne(db, sql: "PRAGMA foreign_key_check") {
        throw DatabaseError(
          .constraint, "migration `\(step.name)`: a row of `\(row[0] as String)` refers to nothing")
      }
      try db.execute(sql: "INSERT INTO grdb_migrations (identifier) VALUES (?)", arguments: [step.name])
    }
  }
}
