package import JobModel
import SQLite

extension HostRate {
  /// Seconds for which a rate says more than none.
  static let life = 30 * 86_400.0

  func write(_ rate: Double, at now: Double, _ db: Database) throws {
    try db.cachedStatement(
      sql: "INSERT OR REPLACE INTO host_rate (origin, direction, rate, at) VALUES (?,?,?,?)"
    ).execute(arguments: [origin, direction.rawValue, rate, now])
  }
}

extension JobLedger {
  /// Bytes per second on one connection, as measured in the last month.
  package func hostRates(now: Double) throws -> [HostRate: Double] {
    try read { db in
      let rows = try Row.fetchAll(
        db, sql: "SELECT origin, direction, rate FROM host_rate WHERE at BETWEEN ? AND ?",
        arguments: [now - HostRate.life, now])
      return rows.reduce(into: [:]) { rates, row in
        guard let direction = Direction(rawValue: row[1]) else { return }
        rates[HostRate(origin: row[0], direction: direction)] = row[2]
      }
    }
  }
}
