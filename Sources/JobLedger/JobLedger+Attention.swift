import SQLite

/// Which transfers a person should look at.
package enum Attention: Int, Sendable {
  /// Failed, paused, skipped because one they need failed, or queued for a reason.
  case all
  /// Only those that a failure, or a server's cool-down, keeps where they are.
  case failures
  /// Of those, only the paused ones.
  case retries
}

extension JobLedger {
  /// How many queued transfers say what they wait for.
  package func queuedForReasons() throws -> Int {
    try read { db in
      try Int.fetchOne(
        db,
        sql: "SELECT count(*) FROM transfer WHERE state = 'queued' AND live = 1 AND reason IS NOT NULL") ?? 0
    }
  }

  /// The next transfers that a person should look at.
  package func needingAttention(
    after seq: Int64, _ attention: Attention = .all, limit: Int
  ) throws -> [LedgerTransfer] {
    try read { db in
      try fetch(
        db,
        sql: """
          SELECT \(LedgerTransfer.columns) FROM \(LedgerTransfer.join)
          WHERE t.live = 1 AND t.seq > ?1 AND (t.state IN ('failed', 'paused')
            OR (t.state = 'skipped' AND t.reason LIKE 'needs:%')
            OR (t.state = 'queued' AND t.reason IS NOT NULL))
          AND (?3 = 0 OR ?3 = 1 AND t.state IN ('failed', 'skipped') OR t.reason IN ('retries', 'disk'))
          ORDER BY t.seq LIMIT ?2
          """, [seq, limit, attention.rawValue], isRepeated: true)
    }
  }
}
