package import JobModel
import SQLite

/// A completed upload that left the manifest, and the transfer that has its destination now and has moved nothing.
package struct Succession: Sendable {
  package var old: Int64
  package var successor: Int64
  package var destination: Place
  /// What was on record of its endpoint when it left the manifest.
  package var endpoint: String?
}

extension JobLedger {
  package func successions(after seq: Int64, limit: Int) throws -> [Succession] {
    try read { db in
      try Row.fetchAll(
        db,
        sql: """
          SELECT o.seq AS old, n.seq AS successor, o.destination AS destination, f.endpoint AS endpoint
          FROM transfer o JOIN profile x ON x.id = o.profile
          JOIN progress p ON p.transfer = o.seq AND p.completed_at IS NOT NULL AND p.session IS NULL
          JOIN transfer n ON n.destination = o.destination AND n.live = 1 AND n.profile IN
            (SELECT id FROM profile WHERE json_extract(settings, '$.direction') = 'upload')
          LEFT JOIN progress q ON q.transfer = n.seq
          LEFT JOIN former_endpoint f ON f.transfer = o.seq
          WHERE o.live = 0 AND o.seq > ? AND json_extract(x.settings, '$.direction') = 'upload'
            AND q.completed_at IS NULL AND q.session IS NULL
          ORDER BY o.seq LIMIT ?
          """, arguments: [seq, limit]
      ).map {
        Succession(
          old: $0["old"], successor: $0["successor"], destination: Place($0["destination"] as String),
          endpoint: $0["endpoint"])
      }
    }
  }

  /// Gives what is on record of completed uploads to those that have their destinations now. Times of another source say
  /// nothing: only the content's digest tells that theirs is the same.
  package func inherit(_ successions: [Succession]) throws {
    guard !successions.isEmpty else { return }
    try write { db in
      for one in successions {
        try db.cachedStatement(sql: "DELETE FROM progress WHERE transfer = ?").execute(arguments: [
          one.successor
        ])
        try db.cachedStatement(
          sql: """
            UPDATE OR IGNORE progress SET transfer = ?1,
              source_facts = json_set(source_facts, '$.mtime', 0, '$.ctime', 0, '$.inode', '0')
            WHERE transfer = ?2 AND source_facts IS NOT NULL
            """
        ).execute(arguments: [one.successor, one.old])
      }
    }
  }
}
