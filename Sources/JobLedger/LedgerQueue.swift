package import JobModel
import SQLite

extension JobLedger {
  /// The next queued transfers behind `seq`, in order, leaving out those of profiles that must wait.
  ///
  /// - Parameter isSelective: only those that the attempt was asked for.
  package func queued(
    after seq: Int64, excluding profiles: Set<Int64>, isSelective: Bool = false, limit: Int
  ) throws -> [LedgerTransfer] {
    try read { db in
      let excluded =
        profiles.isEmpty ? "" : "AND t.profile NOT IN (\(profiles.map(String.init).joined(separator: ",")))"
      return try fetch(
        db,
        sql: """
          SELECT \(LedgerTransfer.columns) FROM \(LedgerTransfer.join)
          WHERE t.state = 'queued' AND t.live = 1 AND t.seq > ?1 \(excluded)
            \(isSelective ? "AND t.seq IN (SELECT transfer FROM selected)" : "") ORDER BY t.seq LIMIT ?2
          """, [seq, limit], isRepeated: profiles.isEmpty)
    }
  }

  /// Those of these transfers that are still queued, in order.
  package func queued(among seqs: [Int64]) throws -> [LedgerTransfer] {
    try read { db in
      try fetch(
        db,
        sql: """
          SELECT \(LedgerTransfer.columns) FROM \(LedgerTransfer.join)
          WHERE t.state = 'queued' AND t.live = 1 AND t.seq IN (\(seqs.map(String.init).joined(separator: ",")))
          ORDER BY t.seq
          """, [])
    }
  }

  package func transfer(_ seq: Int64) throws -> LedgerTransfer? {
    try read { db in
      try fetch(
        db, sql: "SELECT \(LedgerTransfer.columns) FROM \(LedgerTransfer.join) WHERE t.seq = ?", [seq]
      ).first
    }
  }

  package func chunks(of seq: Int64) throws -> [ChunkRecord] {
    try read { db in
      try Row.fetchAll(
        db, sql: "SELECT * FROM chunk WHERE transfer = ? ORDER BY \"offset\"", arguments: [seq]
      ).map {
        ChunkRecord(
          offset: $0["offset"], length: $0["length"], digest: $0["digest"], receipt: $0["receipt"],
          attempts: $0["attempts"])
      }
    }
  }

  /// Uploads that have begun and not ended, in order, a page at a time.
  package func begunUploads(after seq: Int64, limit: Int) throws -> [LedgerTransfer] {
    try read { db in
      try fetch(
        db,
        sql: """
          SELECT \(LedgerTransfer.columns)
          FROM progress p INDEXED BY progress_begun CROSS JOIN transfer t ON t.seq = p.transfer
          WHERE t.live = 1 AND p.transfer > ? AND p.session IS NOT NULL AND p.source_facts IS NOT NULL
            AND p.completed_at IS NULL AND t.state NOT IN ('skipped', 'canceled')
          ORDER BY p.transfer LIMIT ?
          """, [seq, limit])
    }
  }

  /// The file systems of the job's folder and of a download's part file, where they were two.
  package func fileSystems(of seq: Int64) throws -> (home: Int64, away: Int64)? {
    try read { db in
      try Row.fetchOne(db, sql: "SELECT * FROM file_systems WHERE transfer = ?", arguments: [seq]).map {
        (home: $0["home"], away: $0["away"])
      }
    }
  }

  /// The part file that holds a download's recorded chunks.
  package func part(of seq: Int64) throws -> PartRecord? {
    try read { db in
      try Row.fetchOne(db, sql: "SELECT * FROM part_file WHERE transfer = ?", arguments: [seq]).map {
        PartRecord(
          tag: $0["tag"], inode: UInt64(bitPattern: $0["inode"] as Int64),
          folder: UInt64(bitPattern: $0["folder"] as Int64),
          owner: UInt32(truncatingIfNeeded: $0["owner"] as Int64))
      }
    }
  }

  /// What was on record of a retired upload's endpoint when it was retired, as JSON.
  package func formerEndpoint(of seq: Int64) throws -> String? {
    try read { db in
      try String.fetchOne(
        db, sql: "SELECT endpoint FROM former_endpoint WHERE transfer = ?", arguments: [seq])
    }
  }

  /// What the plan has on record of an endpoint; the manifest may name another store by now.
  package func plannedEndpoint(_ name: String) throws -> String? {
    let endpoint = try meta("endpoints").flatMap { JSON(Array($0.utf8)) }?[name]
    return endpoint?.members == nil ? nil : endpoint?.text
  }

  /// The sessions that were asked for and may have been opened, in order of time: one at most where a key finds it.
  package func intents(of seq: Int64) throws -> [SessionIntent] {
    try read { db in
      try Row.fetchAll(
        db, sql: "SELECT * FROM session_intent WHERE transfer = ? ORDER BY asked_at", arguments: [seq]
      ).map {
        let (first, last): (Double, Double) = ($0["asked_at"], $0["last_asked_at"])
        return SessionIntent(
          key: $0["key"], size: $0["size"], contentType: $0["content_type"], chunkSize: $0["chunk_size"],
          askedAt: first > 0 ? first : nil, lastAskedAt: first > 0 ? last : nil)
      }
    }
  }

  /// Whether an unfinished upload of this job, or one that is to be ended, goes on in a session.
  package func hasSession(_ id: String) throws -> Bool {
    try read { db in
      try Bool.fetchOne(
        db,
        sql: """
          SELECT EXISTS (SELECT 1 FROM progress
            WHERE session IS NOT NULL AND completed_at IS NULL AND json_extract(session, '$.id') = ?)
          """, arguments: [id]) ?? false
    }
  }

  /// How many such sessions are on record, by transfer.
  package func intended() throws -> [Int64: Int] {
    try read { db in
      var counts: [Int64: Int] = [:]
      let seqs = try Int64.fetchCursor(db, sql: "SELECT transfer FROM session_intent")
      while let seq = try seqs.next() { counts[seq, default: 0] += 1 }
      return counts
    }
  }

  /// Profiles of queued transfers that need others.
  package func waitingProfiles() throws -> [(id: Int64, settings: TransferSettings)] {
    try read { db in
      try Row.fetchAll(
        db.cachedStatement(
          sql: """
            SELECT id, settings FROM profile WHERE json_array_length(settings, '$.needs') > 0
            AND id IN (SELECT DISTINCT profile FROM transfer WHERE state = 'queued' AND live = 1)
            """)
      ).map { (id: $0["id"], settings: SettingsRow.read($0["settings"])) }
    }
  }

  /// What stands in the way of a need (an id, or a glob of ids): a transfer that can no longer satisfy it, else
  /// one that does not yet; nil where all do. Those of the profile itself do not count.
  package func obstacle(to need: String, of profile: Int64) throws -> (id: String, state: TransferState)? {
    try first(
      of: need, besides: profile,
      "NOT (state IN ('completed', 'up_to_date') OR (state = 'skipped' AND reason = 'exists'))")
  }

  /// A disabled transfer that a need asks for: no run can satisfy it.
  package func disabled(_ need: String, of profile: Int64) throws -> String? {
    try first(of: need, besides: profile, "state = 'skipped' AND reason = 'disabled'")?.id
  }

  private func first(
    of need: String, besides profile: Int64, _ condition: String
  ) throws -> (id: String, state: TransferState)? {
    let glob = GlobPattern.isPattern(need) ? try? GlobPattern(need) : nil
    return try read { db in
      // Of a million rows each may need one of its own.
      let statement = try db.cachedStatement(
        sql: """
          SELECT id, state, reason FROM transfer WHERE live = 1 AND profile != ?1
          \(glob == nil ? "AND id = ?2" : "") AND \(condition)
          ORDER BY state IN ('failed', 'canceled', 'skipped') DESC, seq
          """)
      let rows = try Row.fetchCursor(
        statement, arguments: glob == nil ? [profile, GlobPattern.unescape(need)] : [profile])
      while let row = try rows.next() {
        let id: String = row["id"]
        guard glob?.matches(id) ?? true else { continue }
        if let state = TransferState(word: row["state"], reason: row["reason"]) { return (id, state) }
      }
      return nil
    }
  }

  /// Sets the state of all queued transfers of a profile at once.
  package func settleQueued(
    profile: Int64, to state: TransferState, telling tell: ((StateChange) -> Void)? = nil
  ) throws {
    try announce(where: "profile = ? AND state = 'queued'", [profile], to: state, tell)
    try write { db in
      try db.execute(
        sql: """
          UPDATE transfer SET state = ?, reason = ?, touched = 1 WHERE profile = ? AND state = 'queued' AND live = 1
          """, arguments: [state.word, state.reason, profile])
    }
  }

  /// What stands as complete and was completed in this boot; another boot's is read again before it counts.
  private static let unsynced = """
    progress p JOIN transfer t ON t.seq = p.transfer
    WHERE p.synced = 0 AND p.boot_id IS NOT NULL AND p.boot_id = ? AND p.completed_at IS NOT NULL AND t.live = 1
    AND (t.state = 'completed' OR t.state = 'up_to_date')
    """

  /// Completions of this boot that may not be on disk yet, in the plan's order.
  package func unsynced(boot: String, limit: Int) throws -> [UnsyncedCompletion] {
    try read { db in
      // Thousands of rows: one at a time, as each takes more than what is made of it.
      let rows = try Row.fetchCursor(
        db,
        sql: """
          SELECT t.seq, t.id, t.state, t.reason, t.destination, p.resolved_destination, p.completed_at,
            json_extract(p.destination_facts, '$.inode'), p.reused
          FROM \(Self.unsynced) ORDER BY t.seq LIMIT ?
          """, arguments: [boot, limit])
      return try Array(
        rows.map { row in
          UnsyncedCompletion(
            seq: row[0], id: row[1], state: TransferState(word: row[2], reason: row[3]) ?? .completed,
            destination: (row[5] as String?).map { .local($0) } ?? Place(row[4] as String),
            inode: (row[7] as String?).flatMap { UInt64($0) }, reused: row[8], completedAt: row[6])
        })
    }
  }

  /// How many completions of this boot may not be on disk yet.
  package func unsyncedCount(boot: String) throws -> Int {
    try read { try Int.fetchOne($0, sql: "SELECT count(*) FROM \(Self.unsynced)", arguments: [boot]) ?? 0 }
  }

  /// The next transfers behind `seq`, in order, that the manifest no longer has, and whose sessions and part files are still to
  /// be ended.
  package func retired(after seq: Int64 = 0, limit: Int = 256) throws -> [LedgerTransfer] {
    try read { db in
      try fetch(
        db,
        sql: """
          SELECT \(LedgerTransfer.columns) FROM \(LedgerTransfer.join)
          WHERE t.live = 0 AND t.seq > ? ORDER BY t.seq LIMIT ?
          """, [seq, limit], isRepeated: true)
    }
  }

  /// Uploads without a session for which one may have been opened, and that do not go on with it: those that have ended,
  /// and any whose key does not find it again.
  package func endedWithIntent() throws -> [LedgerTransfer] {
    try read { db in
      try fetch(
        db,
        sql: """
          SELECT \(LedgerTransfer.columns) FROM \(LedgerTransfer.join)
          WHERE t.live = 1 AND t.seq IN (SELECT transfer FROM session_intent) AND p.session IS NULL
            AND (t.state IN ('canceled', 'completed', 'up_to_date')
              OR t.state = 'skipped' AND t.reason = 'exists'
              OR EXISTS (SELECT 1 FROM session_intent i WHERE i.transfer = t.seq AND i.asked_at > 0))
          ORDER BY t.seq
          """, [])
    }
  }

  /// The transfers of a plan in order, a page at a time, so that memory does not grow with the plan.
  ///
  /// - Parameter withFacts: also what identifies their local files.
  package func page(
    after seq: Int64, onlyTouched: Bool, limit: Int, withFacts: Bool = true
  ) throws -> [LedgerTransfer] {
    try read { db in
      let filter =
        onlyTouched ? "AND (t.touched = 1 OR t.state NOT IN ('completed', 'up_to_date'))" : ""
      return try fetch(
        db,
        sql: """
          SELECT \(LedgerTransfer.columns) FROM \(LedgerTransfer.join)
          WHERE t.live = 1 AND t.seq > ? \(filter) ORDER BY t.seq LIMIT ?
          """, [seq, limit], withFacts: withFacts, isRepeated: true)
    }
  }

  /// - Parameter isRepeated: keeps the statement: preparing it costs as much as reading twenty transfers.
  func fetch(
    _ db: Database, sql: String, _ arguments: StatementArguments, withFacts: Bool = true,
    isRepeated: Bool = false
  ) throws -> [LedgerTransfer] {
    var texts = RepeatedTexts(hasFacts: withFacts)
    var profiles: [Int64: CopyOnWrite<TransferSettings>] = [:]
    var found: [LedgerTransfer] = []
    let statement = isRepeated ? try db.cachedStatement(sql: sql) : try db.makeStatement(sql: sql)
    let rows = try Row.fetchCursor(statement, arguments: arguments)
    while let row = try rows.next() {
      let id: Int64 = row[0]
      let settings: CopyOnWrite<TransferSettings>
      if let known = profiles[id] {
        settings = known
      } else {
        let text =
          try String.fetchOne(
            db.cachedStatement(sql: "SELECT settings FROM profile WHERE id = ?"), arguments: [id]) ?? "{}"
        settings = CopyOnWrite(wrappedValue: SettingsRow.read(text))
        profiles[id] = settings
      }
      found.append(LedgerTransfer(row, settings: settings, &texts))
    }
    return found
  }
}

extension JobLedger {
  /// Skips the first queued transfers of a profile because one that they need can't be had.
  ///
  /// - Parameter last: those up to this one are skipped already.
  /// - Returns: which; fewer than `limit` where no more are left.
  package func skipQueued(
    profile: Int64, need: String, failure: Failure, after last: Int64, limit: Int, at now: Double,
    telling tell: ((StateChange) -> Void)? = nil
  ) throws -> [Int64] {
    let state = TransferState.skipped(.needs(need))
    let queued = "profile = ? AND state = 'queued' AND live = 1 AND seq > ?"
    let seqs = try read { db in
      try Int64.fetchAll(
        db, sql: "SELECT seq FROM transfer WHERE \(queued) ORDER BY seq LIMIT ?",
        arguments: [profile, last, limit])
    }
    guard let end = seqs.last else { return [] }
    let page = "\(queued) AND seq <= ?"
    let arguments: StatementArguments = [profile, last, end]
    try announce(
      where: "profile = ? AND state = 'queued' AND seq > ? AND seq <= ?", arguments, to: state,
      failure: failure, tell)
    try write { db in
      let text = ProgressRow.failure(failure).text
      try db.execute(
        sql: """
          UPDATE progress SET failure = ?, failed_at = ?, updated_at = ?
          WHERE transfer IN (SELECT seq FROM transfer WHERE \(page))
          """, arguments: [text, now, now, profile, last, end])
      let untried = try Int64.fetchAll(
        db,
        sql: """
          SELECT seq FROM transfer WHERE \(page)
          AND NOT EXISTS (SELECT 1 FROM progress WHERE progress.transfer = seq)
          """, arguments: arguments)
      var progress = TransferProgress()
      (progress.failure, progress.failedAt, progress.updatedAt) = (failure, now, now)
      for seq in untried { try ProgressRow.write(seq, progress, db) }
      try db.execute(
        sql: "UPDATE transfer SET state = ?, reason = ?, touched = 1 WHERE \(page)",
        arguments: [state.word, state.reason, profile, last, end])
    }
    return seqs
  }

  /// Queues what was skipped because of a need again: that may be had now.
  package func requeueSkippedForNeeds(telling tell: ((StateChange) -> Void)? = nil) throws {
    try announce(where: "state = 'skipped' AND reason LIKE 'needs:%'", to: .queued(nil), tell)
    try write { db in
      try db.execute(
        sql: """
          UPDATE transfer SET state = 'queued', reason = NULL
          WHERE state = 'skipped' AND reason LIKE 'needs:%' AND live = 1
          """)
    }
  }

  /// Gives all queued transfers that have no reason yet this one.
  package func holdQueued(
    reason state: TransferState, telling tell: ((StateChange) -> Void)? = nil
  ) throws {
    try announce(where: "state = 'queued' AND reason IS NULL", to: state, tell)
    try write { db in
      try db.execute(
        sql: "UPDATE transfer SET reason = ? WHERE state = 'queued' AND live = 1 AND reason IS NULL",
        arguments: [state.reason])
    }
  }
}

extension JobLedger {
  /// Live transfers with the id or the destination of a retired one.
  package func successors(of old: LedgerTransfer) throws -> [Int64] {
    try read { db in
      try Int64.fetchAll(
        db,
        sql: "SELECT seq FROM transfer WHERE live = 1 AND (id = ? OR destination = ?) AND seq != ? LIMIT 16",
        arguments: [old.id, old.destination.text, old.seq])
    }
  }

  /// Gives a retired transfer's progress, chunks and intents to the one that goes on with them.
  package func handOver(from old: Int64, to successor: Int64) throws {
    try write { db in
      try db.execute(sql: "DELETE FROM progress WHERE transfer = ?", arguments: [successor])
      try db.execute(sql: "DELETE FROM chunk WHERE transfer = ?", arguments: [successor])
      try db.execute(sql: "UPDATE progress SET transfer = ? WHERE transfer = ?", arguments: [successor, old])
      try db.execute(sql: "UPDATE chunk SET transfer = ? WHERE transfer = ?", arguments: [successor, old])
      try db.execute(
        sql: "UPDATE OR IGNORE session_intent SET transfer = ? WHERE transfer = ?",
        arguments: [successor, old])
    }
  }
}

extension JobLedger {
  /// The transfer of this job that wrote a file, by the facts that were recorded of it, or that was about to give it its
  /// name; nil where none did.
  package func owner(of file: FileFacts, besides seq: Int64) throws -> String? {
    try read { db in try Self.owner(of: file, besides: seq, db) }
  }

  /// The same of another job's or part's ledger, which a runner may have open; nil where it can't be read.
  ///
  /// - Parameter folder: where it lies.
  package static func owner(of file: FileFacts, recordedIn folder: String) -> String? {
    look(in: folder) { db in try owner(of: file, besides: 0, db) }
  }

  /// `meta` of such a ledger.
  package static func meta(_ name: String, recordedIn folder: String) -> String? {
    look(in: folder) { db in
      try String.fetchOne(db, sql: "SELECT value FROM meta WHERE name = ?", arguments: [name])
    }
  }

  private static func look<Value>(in folder: String, _ body: (Database) throws -> Value?) -> Value? {
    guard let db = try? Database(path: folder + "/plan.sqlite", .readOnly) else { return nil }
    return try? body(db)
  }

  private static func owner(of file: FileFacts, besides seq: Int64, _ db: Database) throws -> String? {
    // Between rename and record of the completion the intent alone tells whose it is. A part that an older haul compiled last
    // has no index of intents.
    let knowsIntents =
      try Int.fetchOne(db, sql: "SELECT 1 FROM sqlite_master WHERE name = 'progress_intended'") != nil
    return try String.fetchOne(
      db,
      sql: """
        SELECT t.id FROM progress p JOIN transfer t ON t.seq = p.transfer WHERE t.live = 1 AND t.seq != ?1 AND (
          (json_extract(p.destination_facts, '$.inode') = ?2 AND p.destination_facts IS NOT NULL
            AND json_extract(p.destination_facts, '$.size') = ?4
            AND json_extract(p.destination_facts, '$.mtime') = ?5)
          \(knowsIntents ? "OR (p.intended_inode = ?3 AND p.completed_at IS NULL AND p.size = ?4)" : ""))
        LIMIT 1
        """,
      arguments: [seq, String(file.inode), Int64(bitPattern: file.inode), file.size, file.mtime])
  }
}
