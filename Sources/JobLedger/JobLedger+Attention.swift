import GRDB

extension JobLedger {
  /// How many queued transfers say what they wait for.
  package func queuedForReasons() throws -> Int {
    try read { db in
      try Int.fetchOne(
        db,
        sql: "SELECT count(*) FROM transfer WHERE state = 'queued' AND live = 1 AND reason IS NOT NULL") ?? 0
    }
  }

  /// The first `limit` transfers that a person should look at: failed, then skipped because one they need
  /// failed, then paused, then queued for a reason.
  package func needingAttention(limit: Int) throws -> [LedgerTransfer] {
    try read { db in
      try fetch(
        db,
        sql: """
          SELECT \(LedgerTransfer.columns) FROM \(LedgerTransfer.join)
          WHERE t.live = 1 AND (t.state IN ('failed', 'paused')
            OR (t.state = 'skipped' AND t.reason LIKE 'needs:%')
            OR (t.state = 'queued' AND t.reason IS NOT NULL))
          ORDER BY CASE t.state WHEN 'failed' THEN 0 WHEN 'skipped' THEN 1 WHEN 'paused' THEN 2 ELSE 3 END,
            t.seq LIMIT ?
          """, [limit])
    }
  }
}
