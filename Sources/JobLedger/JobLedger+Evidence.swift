package import JobModel
import SQLite

extension JobLedger {
  /// The checks of the transfers that are completed or up to date, with how many were checked so.
  package func verifications() throws -> [(checks: [Verification], count: Int)] {
    try read { db in
      try Row.fetchAll(
        db,
        sql: """
          SELECT p.verification, count(*) FROM transfer t LEFT JOIN progress p ON p.transfer = t.seq
          WHERE t.live = 1 AND t.state IN ('completed', 'up_to_date') GROUP BY 1
          """
      ).map { row in
        ((row[0] as String?).map { ProgressRow.readVerification(JSONText($0)) } ?? [], row[1])
      }
    }
  }
}
