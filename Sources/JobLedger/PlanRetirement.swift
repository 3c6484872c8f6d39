import JobModel
import SQLite

/// Rows of the plan that a compile did not find: transfers that left the manifest, or whose fan-outs were not looked into.
struct PlanRetirement {
  private let db: Database
  private var gone: [Int64]

  init(_ db: Database, of gone: [Int64]) { (self.db, self.gone) = (db, gone) }

  /// Takes the entries of fan-outs that were not listed out of those that are gone.
  mutating func pass(over fanOuts: UnlistedFanOuts, _ change: inout PlanChange) throws {
    guard !fanOuts.isEmpty else { return }
    let find = try db.makeStatement(
      sql: "SELECT id, state = 'skipped' AND reason = 'disabled' AS off FROM transfer WHERE seq = ?")
    let disable = try db.makeStatement(
      sql: """
        UPDATE transfer SET state = 'skipped', reason = 'disabled',
          profile = (SELECT profile FROM transfer WHERE id = ? AND live = 1) WHERE seq = ?
        """)
    try gone.removeAll { seq in
      guard let row = try Row.fetchOne(find, arguments: [seq]) else { return false }
      let id: String = row["id"]
      if let fanOut = fanOuts.disabled.first(where: { UnlistedFanOuts.holds($0, id) }) {
        if row["off"] as Bool {
          change.kept += 1
        } else {
          try disable.execute(arguments: [fanOut, seq])
          change.adjusted += 1
          change.adjustedRows.insert(seq)
        }
        return true
      }
      guard fanOuts.unheard.contains(where: { UnlistedFanOuts.holds($0, id) }) else { return false }
      change.kept += 1
      return true
    }
  }

  /// Those that are left are in the plan no more: what stays on record of them is cleared away by the run.
  func retire(_ change: inout PlanChange) throws {
    try carryPauses()
    let retire = try db.makeStatement(sql: "UPDATE transfer SET live = 0 WHERE seq = ?")
    for seq in gone { try retire.execute(arguments: [seq]) }
    if !gone.isEmpty {
      try db.execute(sql: Self.rememberEndpoints)
      try db.execute(sql: WrittenFile.remember)
    }
    change.retired = gone.count
    change.left = try leftManifest()
    try change.left.note(db)
  }

  /// What a user paused waits for `resume`, whatever else is moved under its id from now on.
  private func carryPauses() throws {
    guard !gone.isEmpty else { return }
    // As the index of those that are held has it: a million rows that are not are not read.
    let paused = try Set(
      Int64.fetchAll(
        db,
        sql: """
          SELECT seq FROM transfer
          WHERE state IN ('running', 'paused') AND state = 'paused' AND reason = 'user' AND live = 1
          """))
    for seq in gone where paused.contains(seq) {
      try db.execute(
        sql: """
          UPDATE transfer SET state = 'paused', reason = 'user'
          WHERE id = (SELECT id FROM transfer WHERE seq = ?1) AND seq <> ?1 AND live = 1 AND state = 'queued'
          """, arguments: [seq])
    }
  }

  /// Their endpoint's name may mean another store from now on: what is on record of it goes with what they left there.
  private static let rememberEndpoints = """
    INSERT OR IGNORE INTO former_endpoint
    SELECT t.seq, e.value FROM transfer t
    JOIN json_each((SELECT value FROM meta WHERE name = 'endpoints')) e
      ON substr(t.destination, 1, length(e.key) + 1) = e.key || ':'
    WHERE t.live = 0 AND (EXISTS (SELECT 1 FROM progress p WHERE p.transfer = t.seq
        AND (p.session IS NOT NULL OR p.completed_at IS NOT NULL))
      OR EXISTS (SELECT 1 FROM session_intent i WHERE i.transfer = t.seq))
    """

  /// Those whose id the manifest has no more; others are only another transfer under it, or a fan-out that was
  /// disabled and has its entries again.
  private func leftManifest() throws -> LeftManifest {
    var left = LeftManifest()
    let find = try db.makeStatement(
      sql: """
        SELECT id FROM transfer AS old WHERE seq = ?
        AND NOT EXISTS (SELECT 1 FROM transfer WHERE id = old.id AND live = 1)
        AND NOT (state = 'skipped' AND reason = 'disabled' AND EXISTS (
          SELECT 1 FROM transfer WHERE id > old.id || '/' AND id < old.id || '0' AND live = 1))
        """)
    for seq in gone {
      guard let id = try String.fetchOne(find, arguments: [seq]) else { continue }
      left.count += 1
      if left.ids.count < LeftManifest.limit { left.ids.append(id) }
    }
    return left
  }
}
