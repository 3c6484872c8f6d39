package import JobModel
import Posix
import SQLite

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
  /// The rows of `adjusted`.
  package var adjustedRows = RowSet()
  /// Rows whose source is told to have another size now.
  package var resizedRows = RowSet()
  /// Ids that the manifest has no more.
  package var left = LeftManifest()
  package init() {}
}

/// Under which form the identities of a plan were made: haul 0.1 recorded none.
package enum PlanIdentityForm {
  package static let meta = "identity_form"
  package static let current = "2"
}

extension JobLedger {
  /// Compiles a stream of transfers into the plan, in one transaction: all of it, or nothing on a throw.
  ///
  /// - Parameters:
  ///   - now: when it is compiled, seconds since 1970.
  ///   - mark: asked at the end: what the plan was compiled from, where that is known.
  ///   - rows: the same without the files of rows, where their rows have digests.
  ///   - whole: asked at the end: transfers of the whole job, where the plan is a part's and that is known.
  ///   - left: what stays of the plan where it is not added.
  ///   - fill: called with a function that adds some transfers.
  /// - Throws: `StaleRows`, beside what `fill` throws.
  package func compile(
    at now: Double = SystemClock.now, from mark: () -> String? = { nil }, rows: () -> String? = { nil },
    whole: () -> Int64? = { nil }, leaving left: UnlistedFanOuts = UnlistedFanOuts(),
    batches fill: (_ add: (PlanBatch) throws -> Void) throws -> Void
  ) throws -> PlanChange {
    try compile(at: now, from: mark, rows: rows, whole: whole, leaving: left) { writer in
      try fill { try writer.add($0) }
    }
  }

  /// As above, one transfer at a time; `identity` is 8 bytes.
  package func compile(
    at now: Double = SystemClock.now,
    _ fill: (_ add: (_ transfer: PlannedTransfer, _ identity: [UInt8]) throws -> Void) throws -> Void
  ) throws -> PlanChange {
    try compile(at: now, from: { nil }, rows: { nil }, whole: { nil }, leaving: UnlistedFanOuts()) { writer in
      try fill { transfer, identity in
        var one = PlanBatch()
        one.append(transfer, identity: identity)
        try writer.add(one)
      }
    }
  }

  private func compile(
    at now: Double, from mark: () -> String?, rows: () -> String?, whole: () -> Int64?,
    leaving left: UnlistedFanOuts, with fill: (PlanWriter) throws -> Void
  ) throws -> PlanChange {
    try write { db in
      let writer = try PlanWriter(db, at: now)
      try fill(writer)
      let change = try writer.finish(leaving: left)
      if change.added + change.adjusted + change.retired > 0 { try Self.noteChange(db) }
      try Self.forgetListings(db)
      try db.execute(
        sql: "INSERT OR REPLACE INTO meta VALUES (?, ?)",
        arguments: [PlanIdentityForm.meta, PlanIdentityForm.current])
      // In the same transaction: a mark never speaks of another plan.
      try db.execute(
        sql: "DELETE FROM meta WHERE name IN ('compiled_from', 'compiled_count', ?, ?)",
        arguments: [Self.rowsFrom, Self.wholeCount])
      if let whole = whole() {
        try db.execute(
          sql: "INSERT INTO meta VALUES (?, ?)", arguments: [Self.wholeCount, String(whole)])
      }
      if let base = rows() {
        try db.execute(sql: "INSERT INTO meta VALUES (?, ?)", arguments: [Self.rowsFrom, base])
      }
      if let mark = mark() {
        try db.execute(
          sql: "INSERT INTO meta VALUES ('compiled_from', ?), ('compiled_count', ?)",
          arguments: [mark, String(change.added + change.kept + change.adjusted)])
      }
      return change
    }
  }

  /// A fact of a part's ledger: how many transfers the whole job had when the plan was compiled.
  package static let wholeCount = "whole_count"

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

/// What was to be kept is not in the plan: all has to be compiled.
package struct StaleRows: Error {}

/// The state of one compile, inside its transaction.
private final class PlanWriter {
  private let db: Database
  private let isFirst: Bool
  private var seen = RowSet()
  /// The row that the next transfer most likely is: row files rarely change their order.
  private var expected: Int64 = 1
  private var change = PlanChange()
  private var profiles: [TransferSettings: Int64] = [:]
  /// By `PlannedTransfer.settingsGroup`.
  private var groups: [Int: Int64] = [:]
  private let marks: RowMarkWriter
  private var keepsRows = false
  private let insert: TransferInsert
  private let compare: Statement
  private let find: Statement
  private let rename: Statement
  private let adjust: Statement

  init(_ db: Database, at now: Double) throws {
    self.db = db
    isFirst = try Int.fetchOne(db, sql: "SELECT 1 FROM transfer LIMIT 1") == nil
    if !isFirst { try db.execute(sql: Schema.indexes) }
    marks = try RowMarkWriter(db)
    insert = try TransferInsert(db, at: now)
    compare = try db.makeStatement(
      sql: """
        SELECT 1 FROM transfer WHERE seq = ? AND id = ? AND identity = ? AND source = ? AND destination = ?
          AND expect IS ? AND known_size IS ? AND profile = ? AND ordinal IS ? AND live = 1
        """)
    find = try db.makeStatement(
      sql: """
        SELECT seq, profile, source, destination, expect, known_size, state, reason, live, ordinal
        FROM transfer WHERE id = ? AND identity = ?
        """)
    rename = try db.makeStatement(
      sql: "UPDATE OR IGNORE transfer SET identity = ? WHERE id = ? AND identity = ? AND live = 1")
    adjust = try db.makeStatement(
      sql: """
        UPDATE transfer SET profile = ?, source = ?, destination = ?, expect = ?, known_size = ?, state = ?,
          reason = ?, ordinal = ?, live = 1 WHERE seq = ?
        """)
  }

  func add(_ batch: PlanBatch) throws {
    try keep(batch.kept)
    let profiles = try batch.settings.map { try profile($0.value, group: $0.group) }
    if isFirst {
      try insert.insert(0..<batch.count, of: batch, profiles: profiles)
      change.added += batch.count
      let first = db.lastInsertedRowID - Int64(batch.count) + 1
      for index in 0..<batch.count { try mark(index, of: batch, as: first + Int64(index)) }
      return
    }
    var index = 0
    while index < batch.count {
      index = try passUnchanged(from: index, of: batch, profiles)
      guard index < batch.count else { return }
      if try !keep(index, of: batch, profiles) {
        try insert.insert(index..<index + 1, of: batch, profiles: profiles)
        seen.insert(db.lastInsertedRowID)
        try mark(index, of: batch, as: db.lastInsertedRowID)
        change.added += 1
      }
      index += 1
    }
  }

  private func keep(_ rows: [RowMark]) throws {
    guard let last = rows.last else { return }
    for row in rows {
      seen.insert(row.seq)
      try marks.add(row)
    }
    change.kept += rows.count
    expected = last.seq + 1
    keepsRows = true
  }

  private func mark(_ index: Int, of batch: PlanBatch, as seq: Int64) throws {
    if let digest = batch.rows[index].rowDigest { try marks.add(RowMark(digest: digest, seq: seq)) }
  }

  /// Passes over transfers that the plan has in this order and just as they are.
  ///
  /// - Returns: the first that is another one.
  private func passUnchanged(from start: Int, of batch: PlanBatch, _ profiles: [Int64]) throws -> Int {
    var index = start
    try compare.withBinding(to: batch.bytes) { binding in
      while index < batch.count, batch.formerIdentity(index) == nil {
        let row = batch.rows[index]
        try binding.bind(expected, at: 1)
        try binding.bind(text: row.start + 8..<row.id, at: 2)
        try binding.bind(blob: row.start..<row.start + 8, at: 3)
        try binding.bind(text: row.id..<row.source, at: 4)
        try binding.bind(text: row.source..<row.destination, at: 5)
        if row.expect == row.destination {
          try binding.bind(nil as Int64?, at: 6)
        } else {
          try binding.bind(text: row.destination..<row.expect, at: 6)
        }
        try binding.bind(row.knownSize, at: 7)
        try binding.bind(profiles[row.settings], at: 8)
        try binding.bind(row.ordinal, at: 9)
        guard try binding.hasRow() else { return }
        seen.insert(expected)
        try mark(index, of: batch, as: expected)
        expected += 1
        change.kept += 1
        index += 1
      }
    }
    return index
  }

  /// Brings the plan's row of the same id and identity up to date; false where there is none.
  private func keep(_ index: Int, of batch: PlanBatch, _ profiles: [Int64]) throws -> Bool {
    let new = batch.rows[index]
    if let former = batch.formerIdentity(index) {
      try rename.execute(arguments: [Array(batch.identity(new)), batch.id(new), former])
    }
    guard let row = try Row.fetchOne(find, arguments: [batch.id(new), Array(batch.identity(new))])
    else { return false }
    let (source, destination, expect) = (batch.source(new), batch.destination(new), batch.expect(new))
    let settings = batch.settings[new.settings].value
    let profile = profiles[new.settings]
    let seq: Int64 = row["seq"]
    var old = TransferState(word: row["state"], reason: row["reason"]) ?? .fresh(settings)
    let former = Place(row["destination"] as String)
    if former.isElsewhere(than: Place(destination)) {
      switch try leave(former, of: seq, settings) {
      case .taken: break
      case .nothing: old = old.isUsers ? old : .fresh(settings)
      case .session: return false
      }
    }
    seen.insert(seq)
    try mark(index, of: batch, as: seq)
    expected = seq + 1
    let sameExpect = row["expect"] as String? == expect
    let sameRest =
      row["profile"] as Int64 == profile && ByteText(row["source"]) == ByteText(source)
      && ByteText(row["destination"]) == ByteText(destination) && row["live"] as Int == 1
    let sameFacts =
      row["known_size"] as Int64? == new.knownSize && row["ordinal"] as Int64? == new.ordinal
    if sameExpect && sameRest {
      change.kept += 1
    } else {
      change.adjusted += 1
      change.adjustedRows.insert(seq)
    }
    if let known = row["known_size"] as Int64?, let size = new.knownSize, known != size {
      change.resizedRows.insert(seq)
    }
    if sameExpect && sameRest && sameFacts { return true }
    let state = (sameExpect && sameRest) ? old : reopened(old, settings, newExpectation: !sameExpect)
    try adjust.execute(arguments: [
      profile, source, destination, expect, new.knownSize, state.word, state.reason, new.ordinal, seq,
    ])
    return true
  }

  /// What a transfer takes along from a destination whose run values were others.
  private enum Leaving {
    /// All of a download: its part file is taken from there.
    case taken
    /// What was put there is no file of the new place.
    case nothing
    /// A session that was opened for the old place is ended there: another row takes this one's place.
    case session
  }

  private func leave(_ former: Place, of seq: Int64, _ settings: TransferSettings) throws -> Leaving {
    guard settings.direction.writesRemote else {
      try db.execute(
        sql: """
          UPDATE progress SET resolved_destination = ?1 WHERE transfer = ?2 AND resolved_destination IS NULL
            AND (SELECT takes_source_name FROM transfer WHERE seq = ?2) = 0
          """, arguments: [former.text, seq])
      return .taken
    }
    let isOpen = try Bool.fetchOne(
      db,
      sql: """
        SELECT EXISTS (SELECT 1 FROM progress WHERE transfer = ?1 AND session IS NOT NULL)
          OR EXISTS (SELECT 1 FROM session_intent WHERE transfer = ?1)
        """, arguments: [seq])
    if isOpen == true {
      try db.execute(sql: "UPDATE transfer SET identity = randomblob(8) WHERE seq = ?", arguments: [seq])
      return .session
    }
    for table in ["chunk", "progress"] {
      try db.execute(sql: "DELETE FROM \(table) WHERE transfer = ?", arguments: [seq])
    }
    return .nothing
  }

  /// - Throws: `StaleRows`.
  func finish(leaving left: UnlistedFanOuts) throws -> PlanChange {
    try marks.flush()
    if isFirst {
      guard !keepsRows else { throw StaleRows() }
      try db.execute(sql: Schema.indexes)
      return change
    }
    var gone: [Int64] = []
    let rows = try Int64.fetchCursor(db, sql: "SELECT seq FROM transfer WHERE live = 1")
    var found = 0
    while let seq = try rows.next() { if seen.contains(seq) { found += 1 } else { gone.append(seq) } }
    if keepsRows, found != change.added + change.kept + change.adjusted { throw StaleRows() }
    var retirement = PlanRetirement(db, of: gone)
    try retirement.pass(over: left, &change)
    try retirement.retire(&change)
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
    _ old: TransferState, _ settings: TransferSettings, newExpectation: Bool
  ) -> TransferState {
    guard settings.isEnabled else { return .skipped(.disabled) }
    switch old {
    case .failed, .skipped: return .queued(nil)
    case .completed, .upToDate: return newExpectation ? .queued(nil) : old
    case .queued, .running, .paused, .canceled: return old
    }
  }

  private func profile(_ settings: TransferSettings, group: Int?) throws -> Int64 {
    guard let group else { return try profile(settings) }
    if let known = groups[group] { return known }
    let profile = try profile(settings)
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

extension TransferState {
  /// A user's request, which outlives what is on record.
  fileprivate var isUsers: Bool {
    switch self {
    case .paused(.user), .canceled: true
    case .queued, .running, .completed, .upToDate, .failed, .paused, .skipped: false
    }
  }

  /// Where a transfer stands that is new in the plan.
  static func fresh(_ settings: TransferSettings) -> TransferState {
    settings.isEnabled ? .queued(nil) : .skipped(.disabled)
  }
}
