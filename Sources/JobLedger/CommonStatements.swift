import SQLite

/// The statements of most changes, looked up once a group: a cached one is found by hashing its text, and these are
/// long or asked for with every change.
final class CommonStatements {
  private let db: Database
  private var found: [Statement?] = [nil, nil, nil, nil]

  init(_ db: Database) { self.db = db }

  func progress() throws -> Statement { try statement(0, ProgressRow.upsert) }

  func progressState() throws -> Statement { try statement(3, ProgressRow.update) }

  func state() throws -> Statement {
    try statement(1, "UPDATE transfer SET state = ?, reason = ?, touched = max(touched, ?) WHERE seq = ?")
  }

  func chunk() throws -> Statement {
    try statement(
      2,
      """
      INSERT OR REPLACE INTO chunk (transfer, "offset", length, digest, receipt, attempts) VALUES (?,?,?,?,?,?)
      """)
  }

  private func statement(_ place: Int, _ sql: @autoclosure () -> String) throws -> Statement {
    if let known = found[place] { return known }
    let statement = try db.cachedStatement(sql: sql())
    found[place] = statement
    return statement
  }
}
