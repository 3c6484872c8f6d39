package import JobModel
import SQLite

extension JobLedger {
  /// Transfers that this run moved, by the reason: how many, and the ids of the first `limit`.
  package func moved(limit: Int) throws -> [(because: MovedBecause, count: Int, ids: [String])] {
    try read { db in
      let counts = try Row.fetchAll(
        db,
        sql: """
          SELECT p.moved_because, count(*) FROM progress p JOIN transfer t ON t.seq = p.transfer
          WHERE t.live = 1 AND t.state = 'completed' AND p.moved_because IS NOT NULL GROUP BY 1
          """)
      let found = Dictionary(uniqueKeysWithValues: counts.map { ($0[0] as String, $0[1] as Int) })
      return try MovedBecause.allCases.compactMap { reason in
        guard let count = found[reason.rawValue] else { return nil }
        let ids = try String.fetchAll(
          db,
          sql: """
            SELECT t.id FROM transfer t JOIN progress p ON t.seq = p.transfer
            WHERE t.live = 1 AND t.state = 'completed' AND p.moved_because = ? ORDER BY t.seq LIMIT ?
            """, arguments: [reason.rawValue, limit])
        return (reason, count, ids)
      }
    }
  }
}
