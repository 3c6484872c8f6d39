package import JobModel
import SQLite

extension HostRecord {
  /// Seconds for which it is believed: later the host is asked as one that nobody knows.
  static let life = 3600.0

  static func write(_ record: HostRecord?, of origin: String, at now: Double, _ db: Database) throws {
    guard let record else {
      try db.cachedStatement(sql: "DELETE FROM host WHERE origin = ?").execute(arguments: [origin])
      return
    }
    try db.cachedStatement(
      sql: "INSERT OR REPLACE INTO host (origin, openings, given_up, \"window\", at) VALUES (?,?,?,?,?)"
    ).execute(
      arguments: [origin, record.openings, record.isGivenUp, record.window, now])
  }
}

extension JobLedger {
  /// Hosts (by origin) that a run could not ask freely a moment ago; older records are forgotten.
  package func hostRecords(now: Double) throws -> [String: HostRecord] {
    try write { db in
      try db.execute(
        sql: "DELETE FROM host WHERE NOT at BETWEEN ? AND ?", arguments: [now - HostRecord.life, now])
      let rows = try Row.fetchAll(db, sql: "SELECT origin, openings, given_up, \"window\" FROM host")
      return Dictionary(
        uniqueKeysWithValues: rows.map { row in
          (
            row[0],
            HostRecord(
              openings: max(0, row[1]), isGivenUp: row[2], window: (row[3] as Double?).map { max(1, $0) })
          )
        })
    }
  }
}
