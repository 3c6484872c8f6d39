package import JobModel
import SQLite

/// What holds beyond one run: budgets that are spent, servers that want to rest, and a user's limit.
extension JobLedger {
  /// Bytes that moved under a policy in a period.
  package func spent(policy: String, period: String) throws -> Int64 {
    try read { db in
      try Int64.fetchOne(
        db, sql: "SELECT bytes FROM spending WHERE policy = ? AND period = ?", arguments: [policy, period])
        ?? 0
    }
  }

  /// Servers (by origin) that asked for rest, and until when; those whose time is over are forgotten. Where the clock was set
  /// back since, a rest begins now: it never lasts longer than it was asked for.
  package func rests(now: Double) throws -> [String: Double] {
    try write { db in
      try db.execute(sql: "DELETE FROM rest WHERE until <= ?", arguments: [now])
      try db.execute(
        sql: "UPDATE rest SET until = ?1 + until - asked_at, asked_at = ?1 WHERE asked_at > ?1",
        arguments: [now])
      let rows = try Row.fetchAll(db, sql: "SELECT origin, until FROM rest")
      return Dictionary(uniqueKeysWithValues: rows.map { ($0["origin"] as String, $0["until"] as Double) })
    }
  }

  /// Servers are asked again at once, whatever they asked for: a user wants it.
  package func forgetRests() throws { try write { db in try db.execute(sql: "DELETE FROM rest") } }

  /// What `haul limit` last said; nil while the policies hold.
  package func limit() throws -> Bandwidth? {
    guard let text = try meta("limit") else { return nil }
    let json = JSONText(text)
    func rate(_ name: String) -> Rate {
      json.int64(name).map(Rate.bytesPerSecond) ?? .unlimited
    }
    return text == "{}" ? nil : Bandwidth(download: rate("download"), upload: rate("upload"))
  }

  package func setLimit(_ limit: Bandwidth?) throws {
    func json(_ rate: Rate) -> JSON {
      switch rate {
      case .unlimited: .string("unlimited")
      case .bytesPerSecond(let bytes): .integer(bytes)
      }
    }
    let value: JSON = limit.map { ["download": json($0.download), "upload": json($0.upload)] } ?? [:]
    try setMeta("limit", value.text)
  }

  /// Whether transfers of the plan differ in their settings.
  package func hasSeveralProfiles() throws -> Bool {
    try read { db in try Int.fetchAll(db, sql: "SELECT 1 FROM profile LIMIT 2").count > 1 }
  }

  /// The next queued transfers of one profile behind `seq`.
  ///
  /// - Parameter isSelective: only those that the attempt was asked for.
  package func queued(
    profile: Int64, after seq: Int64, isSelective: Bool = false, limit: Int
  ) throws -> [LedgerTransfer] {
    try read { db in
      try fetch(
        db,
        sql: """
          SELECT \(LedgerTransfer.columns) FROM \(LedgerTransfer.join)
          WHERE t.state = 'queued' AND t.live = 1 AND t.seq > ? AND t.profile = ?
            \(isSelective ? "AND t.seq IN (SELECT transfer FROM selected)" : "") ORDER BY t.seq LIMIT ?
          """, [seq, profile, limit])
    }
  }

  /// Puts transfers that are still paused for a reason back into the queue.
  package func requeue(
    _ seqs: [Int64], pausedFor reason: TransferState.PauseReason,
    telling tell: ((StateChange) -> Void)? = nil
  ) throws {
    if let tell { try announce(seqs.sorted(), pausedFor: reason, tell) }
    try write { db in
      let statement = try db.cachedStatement(
        sql: """
          UPDATE transfer SET state = 'queued', reason = NULL WHERE seq = ? AND state = 'paused' AND reason = ?
          """)
      for seq in seqs { try statement.execute(arguments: [seq, reason.rawValue]) }
    }
  }

  /// Tells of those that are about to be queued. One by one they may be released of a million that are paused for the same:
  /// these are not visited.
  private func announce(
    _ seqs: [Int64], pausedFor reason: TransferState.PauseReason, _ tell: @escaping (StateChange) -> Void
  ) throws {
    for start in stride(from: 0, to: seqs.count, by: Self.pageOfChanges) {
      let page = Array(seqs[start..<min(seqs.count, start + Self.pageOfChanges)])
      try announce(
        where: "state = 'paused' AND reason = ? AND seq IN (SELECT value FROM json_each(?))",
        [reason.rawValue, Self.list(page)], to: .queued(nil), tell)
    }
  }
}
