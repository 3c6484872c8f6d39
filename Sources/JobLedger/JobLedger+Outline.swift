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
  /// Where it is done, and its source can be told from another version; nil for all else.
  package var settled: SettledOutline?
}

/// What a plan's totals need of a transfer that is done.
package struct SettledOutline: Sendable {
  /// The destination.
  package var path: String
  /// Bytes.
  package var size: Int64
  package var chunkSize: Int64
  /// A local destination as it was left: bytes, and nanoseconds since 1970.
  package var fileSize: Int64
  package var mtime: Int64
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
                AND NOT EXISTS (SELECT 1 FROM chunk WHERE transfer = t.seq),
              CASE WHEN t.state IN ('completed', 'up_to_date') AND p.completed_at IS NOT NULL AND p.attach IS NULL
                AND coalesce(
                  json_extract(coalesce(p.source_object, p.remote), '$.etag'),
                  json_extract(coalesce(p.source_object, p.remote), '$.last_modified'),
                  json_extract(t.expect, '$.sha256')) IS NOT NULL
                -- Another run's values led elsewhere.
                AND substr(coalesce(p.resolved_destination, t.destination), 1, length(t.destination)) = t.destination
              THEN coalesce(p.resolved_destination, t.destination) END,
              p.size, p.chunk_size, json_extract(p.destination_facts, '$.size'),
              json_extract(p.destination_facts, '$.mtime')
            FROM transfer t LEFT JOIN progress p ON p.transfer = t.seq
            WHERE t.live = 1 AND t.seq > ? ORDER BY t.seq LIMIT ?
            """), arguments: [seq, limit])
      return try rows.map {
        TransferOutline(seq: $0[0], profile: $0[1], size: $0[2], isUntouched: $0[3], settled: settled($0))
      }
    }
  }

  private func settled(_ row: Row) -> SettledOutline? {
    guard let path = row[4] as String?, let size = row[5] as Int64?, let chunkSize = row[6] as Int64?,
      let fileSize = row[7] as Int64?, let mtime = row[8] as Int64?
    else { return nil }
    return SettledOutline(path: path, size: size, chunkSize: chunkSize, fileSize: fileSize, mtime: mtime)
  }

  package func settings(of profile: Int64) throws -> TransferSettings? {
    try read { db in
      try String.fetchOne(
        db.cachedStatement(sql: "SELECT settings FROM profile WHERE id = ?"), arguments: [profile]
      ).map(SettingsRow.read)
    }
  }
}
