import JobModel
import SQLite

/// Requests at a time that `connections: auto` came to, by host.
enum HostConcurrency {
  static func write(_ requests: Int, of origin: String, at now: Double, _ db: Database) throws {
    try db.cachedStatement(
      sql: "INSERT OR REPLACE INTO host_concurrency (origin, requests, at) VALUES (?,?,?)"
    )
    .execute(arguments: [origin, requests, now])
  }
}

extension JobLedger {
  /// What `connections: auto` came to since a moment, by origin; without one, in the last month.
  package func hostConcurrency(since: Double? = nil, now: Double) throws -> [String: Int] {
    try read { db in
      let rows = try Row.fetchAll(
        db, sql: "SELECT origin, requests FROM host_concurrency WHERE at BETWEEN ? AND ?",
        arguments: [since ?? now - HostRate.life, now])
      return rows.reduce(into: [:]) { $0[$1[0]] = max(1, $1[1]) }
    }
  }
}
