package import JobModel
import SQLite

/// Notices that are owed, and what came of them.
extension JobLedger {
  /// Records notices apart from the run's own records; one whose key is on record stays as it is.
  ///
  /// - Parameter run: nil where it never began.
  package func owe(_ notices: [OwedNotice], run: Int?) throws {
    try write { db in try Self.owe(notices, run: run, db) }
  }

  /// Records notices in the transaction that records their event.
  static func owe(_ notices: [OwedNotice], run: Int?, _ db: Database) throws {
    for notice in notices {
      try db.execute(
        sql: """
          INSERT OR IGNORE INTO notice ("key", run, event, kind, target, request, owed_at)
          VALUES (?, ?, ?, ?, ?, ?, ?)
          """,
        arguments: [
          notice.key, run, notice.event.rawValue, notice.message.kind, notice.message.target,
          NoticeJSON.write(notice).text, notice.owedAt,
        ])
    }
  }

  /// The oldest first, so many of each receiver; at most a thousand, shared among the receivers.
  package func owedNotices(ofEach count: Int = 100) throws -> [OwedNotice] {
    try read { db in
      try Row.fetchAll(
        db,
        sql: """
          SELECT * FROM (
            SELECT *, row_number() OVER (
              PARTITION BY coalesce(
                json_extract(request, '$.message.ping'), json_extract(request, '$.message.webhook'),
                json_extract(request, '$.message.command[0]'))
              ORDER BY number) AS place
            FROM notice WHERE state = 'owed' ORDER BY place, number LIMIT 1000)
          WHERE place <= ? ORDER BY number
          """, arguments: [count]
      ).compactMap { row in
        guard let event = NoticeEvent(rawValue: row["event"]), let sent = NoticeJSON.read(row["request"])
        else {
          return nil
        }
        return OwedNotice(
          key: row["key"], event: event, message: sent.message, policy: sent.policy, owedAt: row["owed_at"])
      }
    }
  }

  package var owesNotices: Bool {
    get throws {
      try read { db in
        try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM notice WHERE state = 'owed')") ?? false
      }
    }
  }

  /// Records what came of tries. What is settled keeps no more than a report says of it, and of runs that never began
  /// the newest hundred are kept.
  package func note(_ record: NoticeRecord, at now: Double) throws {
    try write { db in
      try db.execute(
        sql: """
          UPDATE notice SET state = ?2, tries = tries + ?3, error = ?4, settled_at = ?5,
            request = CASE WHEN ?2 = 'owed' THEN request ELSE '{}' END
          WHERE "key" = ?1 AND state = 'owed'
          """,
        arguments: [record.key, record.state.rawValue, record.tries, record.error, now])
      try db.execute(
        sql: """
          DELETE FROM notice WHERE run IS NULL AND state != 'owed' AND number NOT IN (
            SELECT number FROM notice WHERE run IS NULL ORDER BY number DESC LIMIT 100)
          """)
    }
  }

  /// Those of a run's attempts, oldest first; of more than a thousand the newest.
  package func notices(run: Int) throws -> [NoticeRecord] {
    try read { db in
      try Row.fetchAll(
        db, sql: "SELECT * FROM notice WHERE run = ? ORDER BY number DESC LIMIT 1000", arguments: [run]
      ).reversed().compactMap { row in
        guard let event = NoticeEvent(rawValue: row["event"]),
          let state = NoticeRecord.State(rawValue: row["state"])
        else { return nil }
        return NoticeRecord(
          key: row["key"], event: event, kind: row["kind"], target: row["target"], state: state,
          tries: row["tries"], error: row["error"])
      }
    }
  }
}
