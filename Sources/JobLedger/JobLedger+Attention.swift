import GRDB

extension JobLedger {
  /// The first `limit` transfers that a person should look at: failed, then skipped because one they need
  /// failed, then paused.
  package func needingAttention(limit: Int) throws -> [LedgerTransfer] {
    try read { db in
      try fetch(
        db,
        sql: """
          SELECT \(LedgerTransfer.columns) FROM \(LedgerTransfer.join)
          WHERE t.live = 1 AND (t.state IN ('failed', 'paused')
            OR (t.state = 'skipped' AND t.reason LIKE 'needs:%'))
          ORDER BY CASE t.state WHEN 'failed' THEN 0 WHEN 'skipped' THEN 1 ELSE 2 END, t.seq LIMIT ?
          """, [limit])
    }
  }
}
