package import JobModel
import SQLite

/// A run of the job: its attempts, until each of its transfers has had its turn.
package struct RunRecord: Sendable, Hashable {
  package var number: Int
  package var id: String
  /// Seconds since 1970.
  package var startedAt: Double
  package var endedAt: Double?
  package var outcome: RunOutcome?
  package var exitCode: Int?
  /// `--set` values of the run.
  package var overrides: [String: String]
  /// What the last attempt was asked for; nil for all.
  package var scope: Selection?
  /// What the run was asked for when it began: its transfers are those alone.
  package var selection: Selection?
  /// Events written so far.
  package var events: Int
  /// Each of its transfers has had its turn, or it was given up: the next run is a new one.
  package var isOver: Bool
  package var leftManifest: LeftManifest
  package var attempts: [AttemptRecord]
  /// What it came to; nil until it has ended, and for runs of an older haul.
  package var totals: RunTotals?
  /// When nothing moved, under a policy or to a server, and why; in the order of their begins.
  package var pauses: [RunPause]

  /// Whether the next `haul run` with a selection goes on with it. One that began with a selection knows nothing of the
  /// others, which are to be looked at.
  package func isContinued(by next: Selection?) -> Bool { !isOver && (selection == nil || selection == next) }

  /// The attempt, of those before the last one, that was at work at this time; nil where none had begun.
  package func earlierAttempt(at time: Double) -> AttemptRecord? {
    attempts.dropLast().last { $0.startedAt <= time }
  }
}

/// One process that worked on a run. Times are seconds since 1970.
package struct AttemptRecord: Sendable, Hashable {
  package var number: Int
  package var startedAt: Double
  package var endedAt: Double?
  package var exitCode: Int?
  package var bytesTransferred: Int64
}

extension JobLedger {
  package func lastRun() throws -> RunRecord? { try run("number = (SELECT max(number) FROM run)", []) }

  package func run(number: Int) throws -> RunRecord? { try run("number = ?", [number]) }

  private func run(_ condition: String, _ arguments: StatementArguments) throws -> RunRecord? {
    try read { db in
      guard
        let row = try Row.fetchOne(db, sql: "SELECT * FROM run WHERE \(condition)", arguments: arguments)
      else { return nil }
      var record = try Self.records([row], db)[0]
      record.leftManifest = try LeftManifest.read(row["left_manifest"], db)
      return record
    }
  }

  /// Newest first, without what left the manifest.
  package func runs(limit: Int) throws -> [RunRecord] {
    try read { db in
      try Self.records(
        Row.fetchAll(db, sql: "SELECT * FROM run ORDER BY number DESC LIMIT ?", arguments: [limit]), db)
    }
  }

  /// Whether the transfers are other ones than the run's last attempt left: a command that was refused behind it compiled
  /// another plan, or a control was applied at rest.
  package func isChanged(since run: RunRecord) throws -> Bool {
    guard let attempt = run.attempts.last else { return false }
    return try meta(Self.compiledAfter) == "\(run.number)/\(attempt.number)"
  }

  /// Keeps the attempt behind which the plan, or a transfer's state, was changed last.
  static func noteChange(_ db: Database) throws {
    try db.execute(
      sql: """
        INSERT OR REPLACE INTO meta VALUES (?, coalesce(
          (SELECT run || '/' || number FROM attempt ORDER BY run DESC, number DESC LIMIT 1), ''))
        """, arguments: [compiledAfter])
  }

  private static let compiledAfter = "compiled_after"

  /// When a run of the whole job ended with 0 last, seconds since 1970.
  package func lastSuccess() throws -> Double? {
    try read { db in
      try Double.fetchOne(
        db, sql: "SELECT ended_at FROM run WHERE number = (\(Self.lastSuccessNumber))", arguments: [])
    }
  }

  static let lastSuccessNumber = "SELECT max(number) FROM run WHERE exit_code = 0 AND scope IS NULL"

  /// - Parameter rows: of runs, newest first.
  private static func records(_ rows: [Row], _ db: Database) throws -> [RunRecord] {
    guard let first = rows.last, let last = rows.first else { return [] }
    var attempts: [Int: [AttemptRecord]] = [:]
    let found = try Row.fetchAll(
      db, sql: "SELECT * FROM attempt WHERE run BETWEEN ? AND ? ORDER BY run, number",
      arguments: [first["number"] as Int, last["number"] as Int])
    for row in found {
      attempts[row["run"] as Int, default: []].append(
        AttemptRecord(
          number: row["number"], startedAt: row["started_at"], endedAt: row["ended_at"],
          exitCode: row["exit_code"], bytesTransferred: row["bytes_transferred"]))
    }
    return rows.map { row in
      RunRecord(
        number: row["number"], id: row["id"], startedAt: row["started_at"], endedAt: row["ended_at"],
        outcome: (row["outcome"] as String?).flatMap(RunOutcome.init(rawValue:)),
        exitCode: row["exit_code"], overrides: JSONText(row["overrides"]).texts,
        scope: selection(row["scope"]), selection: selection(row["selection"]), events: row["events"],
        isOver: row["is_over"], leftManifest: LeftManifest(), attempts: attempts[row["number"] as Int] ?? [],
        totals: RunTotals.read(row["totals"]), pauses: RunPause.read(row["pauses"]))
    }
  }

  private static func selection(_ text: String?) -> Selection? {
    text.flatMap { try? Selection(recorded: $0) }
  }

  /// The condition on `transfer` of what the attempt is asked for alone.
  static func condition(_ isSelective: Bool) -> String {
    isSelective ? "AND seq IN (SELECT transfer FROM selected)" : ""
  }

  /// Begins a new run, its first attempt included: every transfer of the selection but those that a user paused waits
  /// again, and the run's counters begin at nothing. The run before is over, whatever it left.
  ///
  /// - Parameters:
  ///   - selecting: what it is asked for alone; nil for all.
  ///   - owing: the notices that the attempt begins with, by the run's number and its own.
  package func startRun(
    id: String, overrides: [String: String], selecting: SelectedRows? = nil, at now: Double,
    owing: (_ run: Int, _ attempt: Int) -> [OwedNotice] = { _, _ in [] }
  ) throws -> RunRecord {
    let number = try write { db in
      try db.execute(sql: "UPDATE run SET is_over = 1 WHERE is_over = 0")
      try db.execute(
        sql: "INSERT INTO run (id, started_at, overrides, selection) VALUES (?, ?, ?, ?)",
        arguments: [id, now, JSON.dictionary(overrides).text, selecting?.selection.recorded])
      let number = Int(db.lastInsertedRowID)
      try Self.record(selecting, run: number, db)
      let selected = Self.condition(selecting != nil)
      try db.execute(
        sql: """
          UPDATE transfer SET touched = 0 WHERE touched != 0 AND '\(selected)' != '';
          UPDATE transfer SET touched = 0,
            state = CASE WHEN state = 'paused' AND reason = 'user' THEN state
              WHEN state = 'skipped' AND reason = 'disabled' THEN state ELSE 'queued' END,
            reason = CASE WHEN state = 'paused' AND reason = 'user' THEN reason
              WHEN state = 'skipped' AND reason = 'disabled' THEN reason ELSE NULL END
          -- A plan's first run finds a million rows as they should be: none is written again.
          WHERE (touched != 0 OR state != 'queued' OR reason IS NOT NULL) \(selected);
          UPDATE progress SET transferred = 0, reused = 0, discarded = 0, requests = 0, retries = 0,
            attempts = 0, max_chunk_attempts = 0, duration = 0, fresh_starts = 0, chunks_reused = 0,
            started_at = NULL, ended_at = NULL,
            -- What a user asks for while nothing runs is done by the run that begins.
            moved_because = CASE WHEN moved_because = 'asked' AND completed_at IS NULL AND failed_at IS NULL
              THEN moved_because END;
          DELETE FROM meta WHERE name = '\(RemovedSums.meta)';
          """)
      return number
    }
    return try beginAttempt(run: number, at: now, isSelective: selecting != nil, owing: owing)
  }

  /// Begins the next attempt of a run: what was stopped waits again. What failed, or used its retries up, has its turn
  /// behind that (`requeueFailed`).
  package func startAttempt(
    run number: Int, selecting: SelectedRows? = nil, at now: Double,
    owing: (_ run: Int, _ attempt: Int) -> [OwedNotice] = { _, _ in [] }
  ) throws -> RunRecord {
    try beginAttempt(run: number, at: now, isSelective: selecting != nil, owing: owing) { db in
      try Self.record(selecting, run: number, db)
    }
  }

  private func beginAttempt(
    run number: Int, at now: Double, isSelective: Bool,
    owing: (_ run: Int, _ attempt: Int) -> [OwedNotice], first: (Database) throws -> Void = { _ in }
  ) throws -> RunRecord {
    try write { db in
      try first(db)
      try db.execute(
        sql: """
          INSERT INTO attempt (run, number, started_at)
          SELECT ?1, coalesce(max(number), 0) + 1, ?2 FROM attempt WHERE run = ?1
          """, arguments: [number, now])
      let attempt =
        try Int.fetchOne(db, sql: "SELECT max(number) FROM attempt WHERE run = ?", arguments: [number]) ?? 1
      try Self.owe(owing(number, attempt), run: number, db)
      try db.execute(
        sql: """
          UPDATE run SET ended_at = NULL, outcome = NULL, exit_code = NULL, is_over = 0, totals = NULL
          WHERE number = ?;
          """, arguments: [number])
      let selected = Self.condition(isSelective)
      try db.execute(
        sql: """
          UPDATE transfer SET state = 'queued', reason = NULL
          WHERE state IN ('running', 'paused')
            AND (state = 'running' OR reason IS NULL OR reason NOT IN ('user', 'retries')) \(selected);
          UPDATE transfer SET reason = NULL
          WHERE state = 'queued' AND live = 1 AND reason IS NOT NULL \(selected);
          """)
      try LeftManifest.take(run: number, db)
    }
    guard let run = try run(number: number) else {
      throw LedgerError.unreadable(path: path, detail: "run \(number) is gone")
    }
    return run
  }

  /// Completions that another boot left unsynced have their turn again: they are verified before they count.
  package func reopenUnsynced(boot: String) throws {
    try write { db in
      try db.execute(
        sql: """
          UPDATE transfer SET state = 'queued', reason = NULL WHERE state IN ('completed', 'up_to_date')
          AND seq IN (SELECT transfer FROM progress WHERE synced = 0 AND boot_id IS NOT NULL AND boot_id != ?)
          """, arguments: [boot])
    }
  }

  /// Takes back what an earlier attempt of a run said, and what is no longer so.
  package func retract(hint: String, run number: Int) throws {
    try write { db in
      try db.execute(sql: "DELETE FROM diagnostic WHERE run = ? AND hint = ?", arguments: [number, hint])
    }
  }

  /// What is complete has its turn again, so that it is read before it counts (`--resume-check full`).
  package func reopenCompleted() throws {
    try write { db in
      try db.execute(
        sql: """
          UPDATE transfer SET state = 'queued', reason = NULL
          WHERE live = 1 AND state IN ('completed', 'up_to_date')
          """)
    }
  }

  /// Puts back into the queue what failed, used its retries up, or was skipped for that, before a moment.
  ///
  /// - Parameter isSelective: of those alone that the attempt was asked for.
  /// - Returns: whether there was any.
  package func requeueFailed(
    before began: Double, isSelective: Bool = false, telling tell: ((StateChange) -> Void)? = nil
  ) throws -> Bool {
    let condition = """
      (state = 'failed' OR state = 'paused' AND reason = 'retries' OR state = 'skipped' AND reason LIKE 'needs:%')
        \(Self.condition(isSelective)) AND coalesce((SELECT failed_at FROM progress WHERE transfer = seq), 0) < ?
      """
    try announce(where: condition, [began], to: .queued(nil), tell)
    return try write { db in
      try db.execute(
        sql: "UPDATE transfer SET state = 'queued', reason = NULL WHERE live = 1 AND \(condition)",
        arguments: [began])
      return db.changesCount > 0
    }
  }

  /// Records how the attempt, and with it the run, ended.
  ///
  /// - Parameters:
  ///   - isOver: each transfer of the run has had its turn.
  ///   - owing: the notices of the end.
  ///   - pauses: when nothing moved, of all attempts; nil where that is as recorded.
  package func endAttempt(
    run number: Int, outcome: RunOutcome, exitCode: Int32, isOver: Bool, bytesTransferred: Int64,
    scope: Selection?, owing: [OwedNotice] = [], pauses: [RunPause]? = nil, at now: Double
  ) throws {
    try write { db in
      try Self.owe(owing, run: number, db)
      try db.execute(
        sql: """
          UPDATE attempt SET ended_at = ?2, exit_code = ?3, bytes_transferred = ?4
          WHERE run = ?1 AND number = (SELECT max(number) FROM attempt WHERE run = ?1)
          """, arguments: [number, now, exitCode, bytesTransferred])
      try db.execute(
        sql:
          """
          UPDATE run SET ended_at = ?, outcome = ?, exit_code = ?, is_over = ?, scope = ?, totals = ?,
            pauses = coalesce(?, pauses) WHERE number = ?
          """,
        arguments: [
          now, outcome.rawValue, exitCode, isOver, scope?.recorded, try RunTotals.current(db).text,
          pauses.map(RunPause.text), number,
        ])
    }
  }

  /// Records the end of a runner that died, to be called while the run lock is held: its transfers read as paused,
  /// interrupted, and its attempt ended with the last thing on record.
  package func settleInterrupted() throws {
    let isSettled = try read { db in
      try Bool.fetchOne(
        db,
        sql: """
          SELECT NOT EXISTS (SELECT 1 FROM transfer
              WHERE state IN ('running', 'paused') AND state = 'running')
            AND NOT EXISTS (SELECT 1 FROM attempt WHERE ended_at IS NULL)
          """) ?? false
    }
    guard !isSettled else { return }
    try write { db in
      try db.execute(
        sql: """
          UPDATE transfer SET state = 'paused', reason = 'interrupted'
          WHERE state IN ('running', 'paused') AND state = 'running';
          UPDATE attempt SET
            ended_at = max(started_at, coalesce((SELECT max(updated_at) FROM progress), 0),
              coalesce((SELECT CAST(value AS REAL) FROM meta WHERE name = 'moved_at'), 0)),
            bytes_transferred = max(bytes_transferred, coalesce((SELECT sum(transferred) FROM progress), 0)
              + coalesce((SELECT value ->> 'bytes_transferred' FROM meta WHERE name = '\(RemovedSums.meta)'), 0)
              - coalesce((SELECT sum(bytes_transferred) FROM attempt e
                WHERE e.run = attempt.run AND e.number < attempt.number), 0))
          WHERE ended_at IS NULL;
          """)
      let outcome = try Self.counts(db).outcome(endedByFailFast: false).outcome
      try db.execute(
        sql: """
          UPDATE run SET outcome = ?, totals = ?,
            ended_at = (SELECT max(ended_at) FROM attempt WHERE run = run.number)
          WHERE ended_at IS NULL
          """,
        arguments: [
          (outcome == .failed ? outcome : .incomplete).rawValue, try RunTotals.current(db).text,
        ])
    }
  }

  /// - Parameter isSelective: of those alone that the last attempt was asked for.
  package func counts(isSelective: Bool = false) throws -> StateCounts {
    try read { db in try Self.counts(db, Self.condition(isSelective)) }
  }

  static func counts(_ db: Database, _ condition: String = "") throws -> StateCounts {
    var counts = StateCounts()
    let rows = try Row.fetchAll(
      db,
      sql: """
        SELECT state, CASE WHEN reason LIKE 'needs:%' THEN 'needs:' ELSE reason END AS why, count(*) AS n
        FROM transfer WHERE live = 1 \(condition) GROUP BY 1, 2
        """)
    for row in rows { counts.add(row["n"], word: row["state"], reason: row["why"]) }
    return counts
  }

  /// Sums over the plan, and over what the last run moved of transfers that left it: the report's totals.
  package func sums() throws -> TransferSums { try read { db in try Self.sums(db) } }

  static func sums(_ db: Database) throws -> TransferSums {
    let row = try Row.fetchOne(
      db,
      sql: """
        SELECT CAST(total(CASE WHEN t.live = 1 THEN coalesce(p.size, t.known_size, 0) END) AS INTEGER) AS planned,
          sum(p.transferred) AS transferred,
          sum(p.reused) AS reused, sum(p.discarded) AS discarded, sum(p.requests) AS requests,
          sum(p.retries) AS retries
        FROM transfer t LEFT JOIN progress p ON p.transfer = t.seq
        """)
    func value(_ name: String) -> Int64 { row?[name] as Int64? ?? 0 }
    var sums = TransferSums(
      planned: value("planned"), transferred: value("transferred"), reused: value("reused"),
      discarded: value("discarded"), requests: value("requests"), retries: value("retries"))
    if let removed = try RemovedSums.read(db) { sums.add(removed) }
    return sums
  }

  package func diagnostics(run number: Int) throws -> [RecordedDiagnostic] {
    try read { db in
      let rows = try Row.fetchAll(
        db,
        sql: """
          SELECT severity, message, place, hint, subjects, count FROM diagnostic WHERE run = ?
          ORDER BY number LIMIT 10000
          """, arguments: [number])
      return DiagnosticSubjects.merge(rows)
    }
  }
}

/// A warning or an error of a run, as the ledger keeps it.
package struct RecordedDiagnostic: Sendable, Hashable {
  package var severity: String
  package var message: String
  package var place: String?
  package var hint: String?
}

/// Bytes, requests and retries of all transfers together.
package struct TransferSums: Sendable, Hashable {
  package var planned: Int64
  package var transferred: Int64
  package var reused: Int64
  package var discarded: Int64
  package var requests: Int64
  package var retries: Int64

  mutating func add(_ other: TransferSums) {
    planned = planned.adding(clamping: other.planned)
    transferred = transferred.adding(clamping: other.transferred)
    reused = reused.adding(clamping: other.reused)
    discarded = discarded.adding(clamping: other.discarded)
    requests = requests.adding(clamping: other.requests)
    retries = retries.adding(clamping: other.retries)
  }
}
