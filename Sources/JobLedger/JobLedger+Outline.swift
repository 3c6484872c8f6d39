package import JobModel
import SQLite

/// What a plan's totals need of a transfer.
package struct TransferOutline: Sendable {
  package var seq: Int64
  package var profile: Int64
  /// Bytes, as far as the manifest or a listing tells; nil where unknown.
  package var size: Int64?
  /// It waits for its first turn, and nothing is on record of it.
  package var isUntouched: Bool
}

extension JobLedger {
  /// The next transfers behind `seq`, in order: those that `page` gives.
  package func outline(after seq: Int64, limit: Int) throws -> [TransferOutline] {
    try read { db in
      let rows = try Row.fetchCursor(
        db.cachedStatement(
          sql: """
            SELECT t.seq, t.profile, coalesce(t.known_size, json_extract(t.expect, '$.size')),
              t.state = 'queued' AND t.reason IS NULL AND p.transfer IS NULL
                AND NOT EXISTS (SELECT 1 FROM chunk WHERE transfer = t.seq)
            FROM transfer t LEFT JOIN progress p ON p.transfer = t.seq
            WHERE t.live = 1 AND t.seq > ? ORDER BY t.seq LIMIT ?
            """), arguments: [seq, limit])
      return try rows.map {
        TransferOutline(seq: $0[0], profile: $0[1], size: $0[2], isUntouched: $0[3])
      }
    }
  }

  package func settings(of profile: Int64) throws -> TransferSettings? {
    try read { db in
      try String.fetchOne(
        db.cachedStatement(sql: "SELECT settings FROM profile WHERE id = ?"), arguments: [profile]
      ).map(SettingsRow.read)
    }
  }
}
