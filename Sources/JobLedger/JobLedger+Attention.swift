import SQLite

extension JobLedger {
  /// How many queued transfers say what they wait for.
  package func queuedForReasons() throws -> Int {
    try read { db in
      try Int.fetchOne(
        db,
        sql: "SELECT count(*) FROM transfer WHERE state = 'queued' AND live = 1 AND reason IS NOT NULL") ?? 0
    }
  }

  /// The next transfers that a person should look at: failed, paused, skipped because one they need failed, or queued
  /// for a reason.
  ///
  /// - Parameter isOfFailures: only those that a failure keeps where they are.
  package func needingAttention(
    after seq: Int64, isOfFailures: Bool = false, limit: Int
  ) throws -> [LedgerTransfer] {
    try read { db in
      try fetch(
        db,
        sql: """
          SELECT \(LedgerTransfer.columns) FROM \(LedgerTransfer.join)
          WHERE t.live = 1 AND t.seq > ?1 AND (t.state IN ('failed', 'paused')
            OR (t.state = 'skipped' AND t.reason LIKE 'needs:%')
            OR (t.state = 'queued' AND t.reason IS NOT NULL))
          AND (?3 = 0 OR t.state IN ('failed', 'skipped') OR t.reason IN ('retries', 'disk'))
          ORDER BY t.seq LIMIT ?2
          """, [seq, limit, isOfFailures])
    }
  }
}
