package import JobModel
import SQLite

/// Transfers of one profile that wait in the same state.
package struct WaitingGroup: Sendable {
  /// `queued` or `paused`; the id of a reason `needs:ID` is left out.
  package var state: TransferState
  package var profile: Int64
  package var settings: TransferSettings
  package var count: Int
  /// The row of the first one.
  fileprivate var first: Int64
}

/// A transfer in flight, as far as it is on record.
package struct InFlight: Sendable, Hashable {
  package var id: String
  /// Bytes that are there.
  package var done: Int64
  /// Bytes; nil while unknown.
  package var size: Int64?
}

extension JobLedger {
  /// The largest groups of queued and paused transfers, at most `limit`.
  package func waitingGroups(limit: Int) throws -> [WaitingGroup] {
    try read { db in
      try Row.fetchAll(
        db,
        sql: """
          SELECT g.state, g.why, g.profile, g.n, g.first, profile.settings FROM (
            SELECT state, CASE WHEN reason LIKE 'needs:%' THEN 'needs:' ELSE reason END AS why, profile,
              count(*) AS n, min(seq) AS first
            FROM transfer WHERE live = 1 AND state IN ('queued', 'paused')
            GROUP BY 1, 2, 3 ORDER BY n DESC, first LIMIT ?) g
          JOIN profile ON profile.id = g.profile ORDER BY g.n DESC, g.first
          """, arguments: [limit]
      ).compactMap { row in
        TransferState(word: row[0], reason: row[1]).map {
          WaitingGroup(
            state: $0, profile: row[2], settings: SettingsRow.read(row[5]), count: row[3], first: row[4])
        }
      }
    }
  }

  /// The first ids of a group.
  package func ids(of group: WaitingGroup, limit: Int) throws -> [String] {
    try read { db in
      let reason = group.state.reason
      return try String.fetchAll(
        db,
        sql: """
          SELECT id FROM transfer WHERE seq >= ? AND live = 1 AND profile = ? AND state = ?
            AND CASE WHEN reason LIKE 'needs:%' THEN 'needs:' ELSE reason END IS ? ORDER BY seq LIMIT ?
          """, arguments: [group.first, group.profile, group.state.word, reason, limit])
    }
  }

  /// The transfers in flight that began first, at most `limit`.
  package func inFlight(limit: Int) throws -> [InFlight] {
    try read { db in
      try Row.fetchAll(
        db,
        sql: """
          SELECT t.id, coalesce(p.size, t.known_size, t.expect ->> 'size'),
            max(coalesce(p.contiguous_bytes, 0),
              (SELECT coalesce(sum(length), 0) FROM chunk WHERE transfer = t.seq))
          FROM transfer t LEFT JOIN progress p ON p.transfer = t.seq
          WHERE t.state IN ('running', 'paused') AND t.state = 'running' AND t.live = 1
          ORDER BY p.started_at IS NULL, p.started_at, t.seq LIMIT ?
          """, arguments: [limit]
      ).map { InFlight(id: $0[0], done: $0[2], size: $0[1]) }
    }
  }

  /// Bytes of a transfer that are there, as far as they are on record: of chunks under way, too.
  package func heldBytes(of seq: Int64) throws -> Int64 {
    try read { db in
      try Int64.fetchOne(
        db.cachedStatement(
          sql: """
            SELECT max(coalesce((SELECT contiguous_bytes FROM progress WHERE transfer = ?1), 0),
              (SELECT coalesce(sum(length), 0) FROM chunk WHERE transfer = ?1))
            """), arguments: [seq]) ?? 0
    }
  }

  /// Cool-downs that servers asked for and that last at `now`, seconds since 1970: by origin, the next end first.
  package func cooldowns(now: Double, limit: Int) throws -> [(origin: String, until: Double)] {
    try read { db in
      try Row.fetchAll(
        db,
        sql: """
          SELECT origin, min(until, coalesce(?1 + until - asked_at, until)) AS ends FROM rest
          WHERE until > ?1 ORDER BY ends LIMIT ?2
          """, arguments: [now, limit]
      ).map { ($0[0], $0[1]) }
    }
  }
}
