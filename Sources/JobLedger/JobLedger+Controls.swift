package import JobModel
import SQLite

/// What has become of a request that is on record.
package enum ControlState: Sendable, Hashable {
  /// Nobody has begun to apply it.
  case waiting
  /// It is being applied. Where that came to no end, the next one who holds the run lock applies it.
  case begun
  /// It has changed so many transfers.
  case applied(Int)
  /// It is not applied, and is not going to be.
  case withdrawn
}

/// Requests to a job: in `control`, one row each. `changed` is set when somebody begins to apply one, `applied_at` when it is
/// settled: a row that is settled without `changed` was withdrawn.
extension JobLedger {
  /// Sets the job's limit, and tells the running job of it.
  ///
  /// - Returns: the request's number, to ask `controlState` for.
  package func request(limit: Bandwidth?, at now: Double) throws -> Int64 {
    try setLimit(limit)
    return try write { db in
      try db.execute(
        sql: "INSERT INTO control (verb, ids, requested_at) VALUES ('limit', '[]', ?)", arguments: [now])
      return db.lastInsertedRowID
    }
  }

  /// Numbers of the requests that say the limit is another one and are not applied.
  package func pendingLimits() throws -> [Int64] {
    try read { db in
      try Int64.fetchAll(
        db, sql: "SELECT number FROM control WHERE applied_at IS NULL AND verb = 'limit' ORDER BY number")
    }
  }

  /// Leaves a request for the running job.
  ///
  /// - Returns: its number, to ask `controlState` for.
  package func request(_ control: Control, at now: Double) throws -> Int64 {
    try write { db in
      try db.execute(
        sql: "INSERT INTO control (verb, ids, from_scratch, requested_at) VALUES (?, ?, ?, ?)",
        arguments: [
          control.verb.rawValue, JSON.array(control.ids.map { .string($0) }).text, control.fromScratch, now,
        ])
      return db.lastInsertedRowID
    }
  }

  /// Requests that are not applied to the end, oldest first.
  ///
  /// - Parameter last: the number of the newest one that counts.
  package func pendingControls(through last: Int64 = .max) throws -> [(number: Int64, control: Control)] {
    try read { db in
      try Row.fetchAll(
        db, sql: "SELECT * FROM control WHERE applied_at IS NULL AND number <= ? ORDER BY number",
        arguments: [last]
      ).compactMap { row in
        guard let verb = Control.Verb(rawValue: row["verb"]) else { return nil }
        let ids = JSONText("{\"ids\":\(row["ids"] as String)}").strings("ids") ?? []
        return (row["number"], Control(verb, ids: ids, fromScratch: row["from_scratch"]))
      }
    }
  }

  /// The number of the newest request; 0 where there is none.
  package func lastControl() throws -> Int64 {
    try read { db in try Int64.fetchOne(db, sql: "SELECT max(number) FROM control") ?? 0 }
  }

  /// Whether an attempt has begun and not ended: its runner takes requests, unless it was killed.
  package func hasOpenAttempt() throws -> Bool {
    try read { db in try Self.isAttemptOpen(db) }
  }

  private static func isAttemptOpen(_ db: Database) throws -> Bool {
    try Bool.fetchOne(db, sql: "SELECT EXISTS (SELECT 1 FROM attempt WHERE ended_at IS NULL)") ?? false
  }

  /// Says that a request is being applied: from here on it can't be withdrawn.
  ///
  /// - Returns: false where it was withdrawn, or is applied already.
  package func beginControl(_ number: Int64) throws -> Bool {
    try write { db in
      let wasBegun = try Bool.fetchOne(
        db, sql: "SELECT changed IS NOT NULL FROM control WHERE number = ? AND applied_at IS NULL",
        arguments: [number])
      guard let wasBegun else { return false }
      try db.execute(sql: "UPDATE control SET changed = 0 WHERE number = ?", arguments: [number])
      // Whoever began before and was killed may have changed all that there is to change.
      if wasBegun, try !Self.isAttemptOpen(db) { try Self.noteChange(db) }
      return true
    }
  }

  /// Withdraws a request: nobody applies it any more.
  ///
  /// - Parameter isBegun: also one that is being applied; else it is left to whoever applies it.
  /// - Returns: whether it was withdrawn.
  @discardableResult
  package func withdrawControl(_ number: Int64, isBegun: Bool = false, at now: Double) throws -> Bool {
    try write { db in
      try db.execute(
        sql: """
          UPDATE control SET applied_at = ?, changed = NULL
          WHERE number = ? AND applied_at IS NULL AND (changed IS NULL OR ?)
          """, arguments: [now, number, isBegun])
      return db.changesCount > 0
    }
  }

  /// Withdraws what was requested before a moment and that nobody has begun to apply.
  package func withdrawControls(requestedBefore moment: Double, at now: Double) throws {
    try write { db in
      try db.execute(
        sql: """
          UPDATE control SET applied_at = ? WHERE applied_at IS NULL AND changed IS NULL AND requested_at < ?
          """, arguments: [now, moment])
    }
  }

  package func settleControl(_ number: Int64, changed: Int, at now: Double) throws {
    try write { db in
      try db.execute(
        sql: "UPDATE control SET applied_at = ?, changed = ? WHERE number = ?",
        arguments: [now, changed, number])
      // What a run applies is told by that run's own report.
      if changed > 0, try !Self.isAttemptOpen(db) { try Self.noteChange(db) }
    }
  }

  /// What has become of a request.
  package func controlState(_ number: Int64) throws -> ControlState {
    try read { db -> ControlState in
      guard
        let row = try Row.fetchOne(
          db, sql: "SELECT applied_at IS NULL, changed FROM control WHERE number = ?", arguments: [number])
      else { return .withdrawn }
      return switch (row[0] as Bool, row[1] as Int?) {
      case (true, nil): .waiting
      case (true, _?): .begun
      case (false, let changed?): .applied(changed)
      case (false, nil): .withdrawn
      }
    }
  }

  /// A page of the transfers that a request speaks of.
  package func matching(_ ids: [String], after seq: Int64, limit: Int) throws -> (
    page: [LedgerTransfer], next: Int64?
  ) {
    let patterns = try ids.map { try IDPattern($0) }
    let page = try page(after: seq, onlyTouched: false, limit: limit)
    let wanted = page.filter { transfer in
      patterns.isEmpty || patterns.contains { $0.includes(transfer.id) }
    }
    return (wanted, page.count == limit ? page.last?.seq : nil)
  }

  /// Those of the ids and globs of ids that mean no transfer of the plan.
  package func unknown(_ ids: [String]) throws -> [String] {
    guard !ids.isEmpty else { return [] }
    return try read { db in
      var open = try ids.map { try IDPattern($0) }
      let rows = try String.fetchCursor(db, sql: "SELECT id FROM transfer WHERE live = 1")
      while !open.isEmpty, let id = try rows.next() { open.removeAll { $0.includes(id) } }
      return open.map(\.text)
    }
  }
}
