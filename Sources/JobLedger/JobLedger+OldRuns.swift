import SQLite

extension JobLedger {
  /// Forgets all but the newest runs; the plan, its progress and a run that is to go on stay.
  ///
  /// - Returns: the runs that are (or would be) forgotten.
  package func forgetRuns(keeping count: Int, remove: Bool) throws -> [(number: Int, id: String)] {
    try write { db in
      // The last run says what the next one is called, and whether it goes on.
      let old = try Row.fetchAll(
        db, sql: "SELECT number, id FROM run ORDER BY number DESC LIMIT -1 OFFSET ?",
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
