package import JobModel
import SQLite

extension JobLedger {
  /// Sets the job's limit, and tells the running job of it.
  ///
  /// - Returns: the wish's number, to ask `controlResult` for.
  package func request(limit: Bandwidth?, at now: Double) throws -> Int64 {
    try setLimit(limit)
    return try write { db in
      try db.execute(
        sql: "INSERT INTO control (verb, ids, requested_at) VALUES ('limit', '[]', ?)", arguments: [now])
      return db.lastInsertedRowID
    }
  }

  /// Numbers of the wishes that say the limit is another one and are not applied.
  package func pendingLimits() throws -> [Int64] {
    try read { db in
      try Int64.fetchAll(
        db, sql: "SELECT number FROM control WHERE applied_at IS NULL AND verb = 'limit' ORDER BY number")
    }
  }

  /// Leaves a wish for the running job.
  ///
  /// - Returns: its number, to ask `controlResult` for.
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

  /// Wishes that nobody has applied yet, oldest first.
  package func pendingControls() throws -> [(number: Int64, control: Control)] {
    try read { db in
      try Row.fetchAll(db, sql: "SELECT * FROM control WHERE applied_at IS NULL ORDER BY number").compactMap {
        row in
        guard let verb = Control.Verb(rawValue: row["verb"]) else { return nil }
        let ids = JSONText("{\"ids\":\(row["ids"] as String)}").strings("ids") ?? []
        return (row["number"], Control(verb, ids: ids, fromScratch: row["from_scratch"]))
      }
    }
  }

  package func settleControl(_ number: Int64, changed: Int, at now: Double) throws {
    try write { db in
      try db.execute(
        sql: "UPDATE control SET applied_at = ?, changed = ? WHERE number = ?",
        arguments: [now, changed, number])
    }
  }

  /// How many transfers a wish changed; nil while it waits.
  package func controlResult(_ number: Int64) throws -> Int? {
    try read { db in
      try Int.fetchOne(
        db, sql: "SELECT changed FROM control WHERE number = ? AND applied_at IS NOT NULL",
        arguments: [number])
    }
  }

  /// A page of the transfers that a wish speaks of.
  package func matching(_ ids: [String], after seq: Int64, limit: Int) throws -> (
    page: [LedgerTransfer], next: Int64?
  ) {
    let patterns = ids.map(Wanted.init)
    let page = try page(after: seq, onlyTouched: false, limit: limit)
    let wanted = page.filter { transfer in
      patterns.isEmpty || patterns.contains { $0.means(transfer.id) }
    }
    return (wanted, page.count == limit ? page.last?.seq : nil)
  }

  /// Those of the ids and globs of ids that mean no transfer of the plan.
  package func unknown(_ ids: [String]) throws -> [String] {
    guard !ids.isEmpty else { return [] }
    return try read { db in
      var open = ids.map(Wanted.init)
      let rows = try String.fetchCursor(db, sql: "SELECT id FROM transfer WHERE live = 1")
      while !open.isEmpty, let id = try rows.next() { open.removeAll { $0.means(id) } }
      return open.map(\.text)
    }
  }

  /// An id, or a glob of ids; a plain id also means what lies below it.
  private struct Wanted {
    let text: String
    private let pattern: GlobPattern?

    init(_ text: String) {
      self.text = text
      pattern = try? GlobPattern(text)
    }

    func means(_ id: String) -> Bool {
      text == id || pattern?.matches(id) == true || (pattern?.isLiteral == true && id.hasPrefix(text + "/"))
    }
  }
}
