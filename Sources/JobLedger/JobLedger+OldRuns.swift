import SQLite

extension JobLedger {
  /// Forgets all but the newest runs; the plan, its progress, a run that is to go on and those that somebody is still to be
  /// told of stay.
  ///
  /// - Returns: the runs that are (or would be) forgotten.
  package func forgetRuns(keeping count: Int, remove: Bool) throws -> [(number: Int, id: String)] {
    try write { db in
      // The last run says what the next one is called, and whether it goes on; the last success is told by metrics.
      let old = try Row.fetchAll(
        db,
        sql: """
          SELECT number, id FROM (SELECT number, id FROM run ORDER BY number DESC LIMIT -1 OFFSET ?) AS old
          WHERE number IS NOT (\(Self.lastSuccessNumber))
            AND NOT EXISTS (SELECT 1 FROM notice WHERE notice.run = old.number AND notice.state = 'owed')
          ORDER BY number DESC
          """,
        arguments: [max(1, count)])
      if remove {
        for row in old {
          try db.execute(sql: "DELETE FROM run WHERE number = ?", arguments: [row["number"] as Int])
        }
      }
      return old.map { ($0["number"], $0["id"]) }
    }
  }
}
