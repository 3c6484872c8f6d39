import JobModel
import SQLite

/// A session that nobody goes on with and that the server still has: a retired row beside its transfer's own, with the
/// session as all its progress. The next run and `haul gc` end it like what the manifest no longer has.
enum AbandonedSession {
  private static let known = """
    SELECT t.seq FROM transfer t JOIN progress p ON p.transfer = t.seq
    WHERE t.live = 0 AND t.id = (SELECT id FROM transfer WHERE seq = ?)
      AND json_extract(p.session, '$.id') = ?
    """

  static func record(_ session: RemoteSession, of seq: Int64, _ db: Database) throws {
    guard try Int64.fetchOne(db, sql: known, arguments: [seq, session.id]) == nil else { return }
    try db.execute(
      sql: """
        INSERT INTO transfer (id, identity, profile, source, destination, takes_source_name, live, state)
        SELECT id, randomblob(8), profile, source, destination, takes_source_name, 0, 'canceled'
        FROM transfer WHERE seq = ?
        """, arguments: [seq])
    var progress = TransferProgress()
    progress.session = session
    progress.sessionState = .open
    try ProgressRow.write(db.lastInsertedRowID, progress, db)
  }

  static func forget(_ session: RemoteSession, of seq: Int64, _ db: Database) throws {
    try db.execute(
      sql: "DELETE FROM transfer WHERE seq != ? AND seq IN (\(known))", arguments: [seq, seq, session.id])
  }
}
