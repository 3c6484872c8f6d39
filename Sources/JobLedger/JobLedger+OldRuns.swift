import GRDB

extension JobLedger {
  /// Forgets all but the newest runs; the plan and its progress stay.
  ///
  /// - Returns: the numbers of the runs that are (or would be) forgotten.
  package func forgetRuns(keeping count: Int, remove: Bool) throws -> [Int] {
    try write { db in
      let old = try Int.fetchAll(
        db, sql: "SELECT number FROM run ORDER BY number DESC LIMIT -1 OFFSET ?", arguments: [count])
      if remove {
        for number in old { try db.execute(sql: "DELETE FROM run WHERE number = ?", arguments: [number]) }
      }
      return old
    }
  }
}
