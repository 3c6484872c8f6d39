import JobModel
import SQLite

/// A transfer that is done by its record, which answers for all that the manifest expects of its bytes: where its file is as it
/// was left, nothing has to be asked or read.
package struct StandingCompletion: Sendable {
  package var seq: Int64
  package var id: String
  package var profile: Int64
  /// The destination.
  package var path: String
  /// The file as it was left: bytes, nanoseconds since 1970, inode.
  package var size: Int64
  package var mtime: Int64
  package var inode: UInt64
}

extension JobLedger {
  /// Those of the next `limit` transfers behind `seq` that wait for their first turn in the run and are done by their records,
  /// in order.
  ///
  /// - Parameter isSelective: of those alone that the attempt was asked for.
  /// - Returns: nil in place of `last` at the plan's end.
  package func standingCompletions(
    after seq: Int64, isSelective: Bool, limit: Int
  ) throws -> (page: [StandingCompletion], last: Int64?) {
    try read { db in
      // A plan's first run has none: its rows are not read.
      guard
        try Bool.fetchOne(
          db, sql: "SELECT EXISTS (SELECT 1 FROM progress WHERE completed_at IS NOT NULL)") == true
      else { return ([], nil) }
      let rows = try Row.fetchCursor(
        db.cachedStatement(
          sql: """
            SELECT t.seq, t.id, t.profile, t.destination, t.takes_source_name, t.expect, p.resolved_destination,
              p.size, p.digests, p.verification, json_extract(p.destination_facts, '$.size'),
              json_extract(p.destination_facts, '$.mtime'), json_extract(p.destination_facts, '$.inode')
            FROM transfer t CROSS JOIN progress p ON p.transfer = t.seq
            WHERE t.state = 'queued' AND t.live = 1 AND t.reason IS NULL AND t.seq > ?
              AND t.expect IS NOT NULL AND p.synced = 1 AND p.attach IS NULL AND p.session IS NULL
              AND \(Self.stands) \(Self.condition(isSelective)) ORDER BY t.seq LIMIT ?
            """), arguments: [seq, limit])
      var (page, count, last): ([StandingCompletion], Int, Int64) = ([], 0, seq)
      var texts = RepeatedTexts()
      while let row = try rows.next() {
        (count, last) = (count + 1, row[0])
        if let one = Self.standing(row, &texts) { page.append(one) }
      }
      return (page, count == limit ? last : nil)
    }
  }

  /// It has had no turn in this run, and nobody wants its bytes anew.
  private static let stands = "p.completed_at IS NOT NULL AND p.attempts = 0 AND p.moved_because IS NULL"

  private static func standing(_ row: Row, _ texts: inout RepeatedTexts) -> StandingCompletion? {
    guard let path = Place(row[3] as String).localPath, let size = row[7] as Int64?,
      let fileSize = row[10] as Int64?, let mtime = row[11] as Int64?,
      let inode = (row[12] as String?).flatMap({ UInt64($0) }), size == fileSize
    else { return nil }
    let resolved = row[6] as String?
    let planned = row[4] as Bool ? resolved.map { path + PathParts($0).name } : path
    guard let planned, resolved == nil || resolved == planned,
      answers(row[8], row[9], for: ExpectationRow.read(row[5]), of: size, &texts)
    else { return nil }
    return StandingCompletion(
      seq: row[0], id: row[1], profile: row[2], path: planned, size: size, mtime: mtime, inode: inode)
  }

  /// Whether recorded digests and checks say all that is expected, and no more, and the bytes are the manifest's whatever the
  /// source holds by now.
  private static func answers(
    _ digests: String?, _ checks: String?, for expect: Expectation, of size: Int64,
    _ texts: inout RepeatedTexts
  ) -> Bool {
    guard let digests, let checks, expect.type == nil, expect.size == nil || expect.size == size,
      expect.digests.keys.contains(where: \.isCryptographic)
    else { return false }
    let recorded = ExpectationRow.readDigests(digests)
    let compared = texts.verification(checks) { ProgressRow.readVerification(JSONText($0)) }
    let expected = expect.checks
    return expect.digests.allSatisfy { algorithm, digest in
      recorded[algorithm] == digest
        && compared.contains(Verification(algorithm.rawValue, .manifest, .match))
    }
      && compared.allSatisfy {
        $0.against != .manifest || $0.result == .match && expected.contains($0.check)
      }
  }

  /// Records that these have had their turn, and stand.
  ///
  /// - Returns: those that were still waiting, and done.
  package func settleStanding(_ seqs: [Int64], at now: Double) throws -> Set<Int64> {
    try write { db in
      let settled = try Int64.fetchAll(
        db,
        sql: """
          UPDATE transfer SET state = 'up_to_date' WHERE state = 'queued' AND live = 1 AND reason IS NULL
            AND seq IN (SELECT value FROM json_each(?))
            AND EXISTS (SELECT 1 FROM progress p WHERE p.transfer = seq AND \(Self.stands))
          RETURNING seq
          """, arguments: [Self.list(seqs)])
      try db.execute(
        sql: """
          UPDATE progress SET attempts = attempts + 1, started_at = coalesce(started_at, ?1), ended_at = ?1,
            updated_at = ?1, reused = size, failure = NULL, failed_at = NULL
          WHERE transfer IN (SELECT value FROM json_each(?2))
          """, arguments: [now, Self.list(settled)])
      return Set(settled)
    }
  }

  /// For `json_each`.
  static func list(_ seqs: [Int64]) -> String {
    "[" + seqs.lazy.map(String.init).joined(separator: ",") + "]"
  }
}
