package import JobModel
import SQLite

/// Where a plan stands while it runs: what a live view shows beside the transfers in flight.
package struct PlanStanding: Sendable, Hashable {
  package var counts = StateCounts()
  /// How many transfers are paused, by reason.
  package var pausedReasons: [String: Int] = [:]
  /// Bytes of what may still complete or did; failed, canceled and skipped transfers left out.
  package var plannedBytes: Int64 = 0
  /// Of those: bytes that are there, without the transfers in flight.
  package var doneBytes: Int64 = 0
  /// Bytes of the transfers in flight that are on record.
  package var recordedBytes: Int64 = 0
  /// Transfers among the planned whose size nobody knows yet.
  package var unknownSizes = 0
  package var retries = 0

  package init() {}
}

extension JobLedger {
  /// Reads all rows of the plan: some 0.3 s for a million, so not for every redraw.
  package func standing() throws -> PlanStanding {
    try read { db in
      var standing = PlanStanding()
      // `sum` fails where sizes that servers tell are more than 64 bits together; a cast of `total` is cut there.
      let rows = try Row.fetchAll(
        db,
        sql: """
          SELECT t.state AS state,
            CASE WHEN t.reason LIKE 'needs:%' THEN 'needs:' ELSE t.reason END AS why, count(*) AS n,
            CAST(total(coalesce(p.size, t.known_size, t.expect ->> 'size', 0)) AS INTEGER) AS planned,
            sum(coalesce(p.retries, 0)) AS retries,
            sum(coalesce(p.size, t.known_size, t.expect ->> 'size') IS NULL) AS unknown,
            CAST(total(CASE WHEN p.transfer IS NULL OR t.state NOT IN ('queued', 'running', 'paused') THEN 0
              ELSE min(coalesce(p.size, t.known_size, t.expect ->> 'size', 0), max(p.contiguous_bytes,
                (SELECT coalesce(sum(length), 0) FROM chunk WHERE transfer = t.seq))) END) AS INTEGER) AS partial
          FROM transfer t LEFT JOIN progress p ON p.transfer = t.seq WHERE t.live = 1 GROUP BY 1, 2
          """)
      for row in rows {
        let word: String = row["state"]
        let why: String? = row["why"]
        let count: Int = row["n"]
        standing.counts.add(count, word: word, reason: why)
        standing.retries += row["retries"] as Int
        guard let state = TransferState(word: word, reason: why) else { continue }
        let planned: Int64 = row["planned"]
        switch state {
        case .failed, .canceled, .skipped: continue
        case .completed, .upToDate: standing.doneBytes = standing.doneBytes.adding(clamping: planned)
        case .paused(let reason):
          standing.pausedReasons[reason.rawValue, default: 0] += count
          standing.doneBytes = standing.doneBytes.adding(clamping: row["partial"])
          standing.unknownSizes += row["unknown"] as Int
        case .queued:
          standing.doneBytes = standing.doneBytes.adding(clamping: row["partial"])
          standing.unknownSizes += row["unknown"] as Int
        case .running:
          standing.recordedBytes = standing.recordedBytes.adding(clamping: row["partial"])
          standing.unknownSizes += row["unknown"] as Int
        }
        standing.plannedBytes = standing.plannedBytes.adding(clamping: planned)
      }
      return standing
    }
  }
}
