import Foundation
import GRDB
package import JobModel

/// What compiling changed in the plan.
package struct PlanChange: Sendable, Hashable {
  package var added = 0
  package var kept = 0
  /// Same progress, other settings or expectations.
  package var adjusted = 0
  /// No longer in the manifest, or another identity under the same id.
  package var retired = 0
  /// Nothing that the plan is made from had changed: it was not compiled again.
  package var isUnchanged = false
  package init() {}
}

extension JobLedger {
  /// Compiles a stream of transfers into the plan, in one transaction: all of it, or nothing on a throw.
  ///
  /// - Parameters:
  ///   - mark: asked at the end: what the plan was compiled from, where that is known.
  ///   - fill: called with a function that adds one transfer; `identity` is 8 bytes.
  package func compile(
    from mark: () -> String? = { nil },
    _ fill: (_ add: (_ transfer: PlannedTransfer, _ identity: [UInt8]) throws -> Void) throws -> Void
  ) throws -> PlanChange {
    try write { db in
      let writer = try PlanWriter(db)
      try fill { transfer, identity in try writer.add(transfer, identity: identity) }
      let change = try writer.finish()
      // In the same transaction: a mark never speaks of another plan.
      try db.execute(sql: "DELETE FROM meta WHERE name IN ('compiled_from', 'compiled_count')")
      if let mark = mark() {
        try db.execute(
          sql: "INSERT INTO meta VALUES ('compiled_from', ?), ('compiled_count', ?)",
          arguments: [mark, String(change.added + change.kept + change.adjusted)])
      }
      return change
    }
  }

  /// The plan as it stands, where it was compiled from just this; nil where it has to be compiled.
  package func compiled(from mark: String) throws -> PlanChange? {
    guard try meta("compiled_from") == mark, let count = try meta("compiled_count").flatMap({ Int($0) })
    else {
      return nil
    }
    var change = PlanChange()
    change.kept = count
    change.isUnchanged = true
    return change
  }
}

/// The state of one compile, inside its transaction.
private final class PlanWriter {
  private let db: Database
  private let isFirst: Bool
  private var seen = SeenRows()
  private var change = PlanChange()
  private var profiles: [TransferSettings: Int64] = [:]
  /// By `PlannedTransfer.settingsGroup`.
  private var groups: [Int: Int64] = [:]
  private let insert: Statement
  private let find: Statement
  private let adjust: Statement

  init(_ db: Database) throws {
    self.db = db
    isFirst = try Int.fetchOne(db, sql: "SELECT 1 FROM transfer LIMIT 1") == nil
    if !isFirst { try db.execute(sql: Schema.indexes) }
    insert = try db.makeStatement(
      sql: """
        INSERT INTO transfer (id, identity, profile, source, destination, takes_source_name, expect,
          known_size, state, reason) VALUES (?,?,?,?,?,?,?,?,?,?)
        """)
    find = try db.makeStatement(
      sql: """
        SELECT seq, profile, source, destination, expect, known_size, state, reason, live
        FROM transfer WHERE id = ? AND identity = ?
        """)
    adjust = try db.makeStatement(
      sql: """
        UPDATE transfer SET profile = ?, source = ?, destination = ?, expect = ?, known_size = ?, state = ?,
          reason = ?, live = 1 WHERE seq = ?
        """)
  }

  func add(_ transfer: PlannedTransfer, identity: [UInt8]) throws {
    let profile = try profile(transfer)
    let expect = ExpectationRow.write(transfer.expect)
    let source = transfer.source.text
    let destination = transfer.destination.text
    let fresh: TransferState = transfer.settings.isEnabled ? .queued(nil) : .skipped(.disabled)
    if !isFirst {
      try find.setArguments([transfer.id, Data(identity)])
      if let row = try Row.fetchOne(find) {
        let seq: Int64 = row["seq"]
        seen.insert(seq)
        let old = TransferState(word: row["state"], reason: row["reason"]) ?? fresh
        let sameExpect = row["expect"] as String? == expect
        let sameRest =
          row["profile"] as Int64 == profile && row["source"] as String == source
          && row["destination"] as String == destination && row["live"] as Int == 1
        let sameSize = row["known_size"] as Int64? == transfer.knownSize
        if sameExpect && sameRest && sameSize {
          change.kept += 1
          return
        }
        let state = (sameExpect && sameRest) ? old : reopened(old, transfer, newExpectation: !sameExpect)
        if sameExpect && sameRest { change.kept += 1 } else { change.adjusted += 1 }
        try adjust.execute(arguments: [
          profile, source, destination, expect, transfer.knownSize, state.word, state.reason, seq,
        ])
        return
      }
    }
    try insert.execute(arguments: [
      transfer.id, Data(identity), profile, source, destination, transfer.takesSourceName, expect,
      transfer.knownSize, fresh.word, fresh.reason,
    ])
    if !isFirst { seen.insert(db.lastInsertedRowID) }
    change.added += 1
  }

  func finish() throws -> PlanChange {
    if isFirst {
      try db.execute(sql: Schema.indexes)
      return change
    }
    var gone: [Int64] = []
    let rows = try Int64.fetchCursor(db, sql: "SELECT seq FROM transfer WHERE live = 1")
    while let seq = try rows.next() { if !seen.contains(seq) { gone.append(seq) } }
    let retire = try db.makeStatement(sql: "UPDATE transfer SET live = 0 WHERE seq = ?")
    for seq in gone { try retire.execute(arguments: [seq]) }
    change.retired = gone.count
    if change.added + change.adjusted + change.retired > 0 {
      // What they needed may be another thing now: whether it can be had is decided anew.
      try db.execute(
        sql:
          "UPDATE transfer SET state = 'queued', reason = NULL WHERE state = 'skipped' AND reason LIKE 'needs:%'"
      )
    }
    return change
  }

  /// What a changed manifest does to where a transfer stood: failures and new expectations are looked at again.
  private func reopened(
    _ old: TransferState, _ transfer: PlannedTransfer, newExpectation: Bool
  ) -> TransferState {
    guard transfer.settings.isEnabled else { return .skipped(.disabled) }
    switch old {
    case .failed, .skipped: return .queued(nil)
    case .completed, .upToDate: return newExpectation ? .queued(nil) : old
    case .queued, .running, .paused, .canceled: return old
    }
  }

  private func profile(_ transfer: PlannedTransfer) throws -> Int64 {
    guard let group = transfer.settingsGroup else { return try profile(transfer.settings) }
    if let known = groups[group] { return known }
    let profile = try profile(transfer.settings)
    groups[group] = profile
    return profile
  }

  private func profile(_ settings: TransferSettings) throws -> Int64 {
    if let known = profiles[settings] { return known }
    let text = SettingsRow.write(settings)
    let id: Int64
    if let old = try Int64.fetchOne(db, sql: "SELECT id FROM profile WHERE settings = ?", arguments: [text]) {
      id = old
    } else {
      try db.execute(sql: "INSERT INTO profile (settings) VALUES (?)", arguments: [text])
      id = db.lastInsertedRowID
    }
    // Rows that each say something of their own must not fill the memory.
    if profiles.count > 10_000 { profiles.removeAll() }
    profiles[settings] = id
    return id
  }
}

/// A bit a row: a million rows take 125 kB.
private struct SeenRows {
  private var words: [UInt64] = []

  mutating func insert(_ seq: Int64) {
    let word = Int(seq >> 6)
    if word >= words.count { words += Array(repeating: 0, count: word - words.count + 64) }
    words[word] |= 1 << UInt64(seq & 63)
  }

  func contains(_ seq: Int64) -> Bool {
    let word = Int(seq >> 6)
    return word < words.count && words[word] & (1 << UInt64(seq & 63)) != 0
  }
}
