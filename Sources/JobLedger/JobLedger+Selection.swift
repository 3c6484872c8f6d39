package import JobModel
import SQLite

/// The transfers that an attempt is asked for alone.
package struct SelectedRows: Sendable {
  package let selection: Selection
  package let rows: RowSet
  /// Of `--only-from`.
  package let listed: ListedIDs?
}

/// How many ids a list has, and how many of them are the plan's: those of all parts together are all, or an id is nobody's.
package struct ListedIDs: Sendable, Hashable {
  package var asked = 0
  package var found = 0
  package init() {}
}

/// Ids that a selection names and the plan does not have.
package struct UnknownIDs: Error, Sendable {
  package var count = 0
  /// The first of them.
  package var first: [String] = []
}

extension JobLedger {
  static let owner = "selected_by"
  private static let listed = "selected_ids"

  /// Finds the transfers of a selection.
  ///
  /// - Parameters:
  ///   - run: the run that goes on, where it began with this selection: what had failed when it began is what it is
  ///     asked for still.
  ///   - isPart: the plan is one part's: what it does not have, another may.
  ///   - list: gives the ids of `--only-from`, one at a time.
  /// - Throws: `UnknownIDs`; what `list` throws.
  package func rows(
    of selection: Selection, continuing run: Int?, isPart: Bool = false,
    list: (_ id: (String) throws -> Void) throws -> Void
  ) throws -> SelectedRows {
    try read { db in
      var listed: ListedIDs?
      let rows =
        switch selection {
        case .only(let pattern): try Self.rows(of: pattern, isPart: isPart, db)
        case .ids: try Self.rows(of: list, isPart: isPart, counting: &listed, db)
        case .failed where try run != nil && Self.selectingRun(db) == run:
          // A transfer that was corrected meanwhile is another row under the same id.
          try Self.rows(
            db,
            """
            SELECT new.seq FROM selected JOIN transfer old ON old.seq = selected.transfer
            JOIN transfer new ON new.id = old.id WHERE new.live = 1
            """)
        case .failed:
          try Self.rows(
            db,
            """
            SELECT seq FROM transfer WHERE live = 1 AND (state IN ('queued', 'running', 'failed')
              OR state = 'paused' AND reason IS NOT 'user' OR state = 'skipped' AND reason LIKE 'needs:%')
            """)
        }
      return SelectedRows(selection: selection, rows: rows, listed: listed)
    }
  }

  private static func rows(_ db: Database, _ sql: String) throws -> RowSet {
    var rows = RowSet()
    let found = try Int64.fetchCursor(db, sql: sql)
    while let row = try found.next() { rows.insert(row) }
    return rows
  }

  private static func rows(of pattern: IDPattern, isPart: Bool, _ db: Database) throws -> RowSet {
    let all = try Row.fetchCursor(db, sql: "SELECT seq, id FROM transfer WHERE live = 1")
    var rows = RowSet()
    var isEmpty = true
    while let row = try all.next() {
      guard pattern.includes(row[1]) else { continue }
      rows.insert(row[0])
      isEmpty = false
    }
    if isEmpty, !isPart { throw UnknownIDs(count: 1, first: [pattern.text]) }
    return rows
  }

  private static func rows(
    of list: (_ id: (String) throws -> Void) throws -> Void, isPart: Bool, counting listed: inout ListedIDs?,
    _ db: Database
  ) throws -> RowSet {
    let find = try db.makeStatement(sql: "SELECT seq FROM transfer WHERE id = ? AND live = 1")
    var rows = RowSet()
    var unknown = UnknownIDs()
    var ids = ListedIDs()
    try list { id in
      ids.asked += 1
      if let seq = try Int64.fetchOne(find, arguments: [id]) {
        rows.insert(seq)
      } else {
        unknown.count += 1
        if unknown.first.count < 3 { unknown.first.append(String(id.prefix(200))) }
      }
    }
    if unknown.count > 0, !isPart { throw unknown }
    ids.found = ids.asked - unknown.count
    listed = ids
    return rows
  }

  /// Records what the attempt of a run is asked for, which the statements of the run refer to; nil for all.
  static func record(_ selected: SelectedRows?, run: Int, _ db: Database) throws {
    try db.execute(sql: "DELETE FROM selected")
    try db.execute(sql: "DELETE FROM meta WHERE name IN (?, ?)", arguments: [owner, listed])
    guard let selected else { return }
    let insert = try db.makeStatement(sql: "INSERT INTO selected VALUES (?)")
    let last = try Int64.fetchOne(db, sql: "SELECT max(seq) FROM transfer") ?? 0
    for row in 0...last where selected.rows.contains(row) { try insert.execute(arguments: [row]) }
    try db.execute(sql: "INSERT INTO meta VALUES (?, ?)", arguments: [owner, String(run)])
    guard let ids = selected.listed else { return }
    try db.execute(sql: "INSERT INTO meta VALUES (?, ?)", arguments: [listed, "\(ids.asked) \(ids.found)"])
  }

  /// The run that `selected` was recorded for last; nil where that was asked for all.
  private static func selectingRun(_ db: Database) throws -> Int? {
    try String.fetchOne(db, sql: "SELECT value FROM meta WHERE name = ?", arguments: [owner]).flatMap {
      Int($0)
    }
  }

  /// What the list of a run's last attempt came to; nil where it was asked for no list, or that is not on record.
  package func listedIDs(run: Int) throws -> ListedIDs? {
    let text: String? = try read { db in
      try Self.selectingRun(db) == run
        ? try String.fetchOne(db, sql: "SELECT value FROM meta WHERE name = ?", arguments: [Self.listed])
        : nil
    }
    let counts = text?.split(separator: " ").compactMap { Int($0) } ?? []
    guard counts.count == 2 else { return nil }
    var ids = ListedIDs()
    (ids.asked, ids.found) = (counts[0], counts[1])
    return ids
  }

  /// What stands of the transfers that a run's last attempt was asked for; nil where they are not on record.
  package func selectedCounts(run: Int) throws -> StateCounts? {
    try read { db in
      try Self.selectingRun(db) == run ? try Self.counts(db, Self.condition(true)) : nil
    }
  }

  /// The transfers that a run's last attempt was asked for; nil where they are not on record.
  package func selectedRows(run: Int) throws -> RowSet? {
    try read { db in
      try Self.selectingRun(db) == run ? try Self.rows(db, "SELECT transfer FROM selected") : nil
    }
  }
}
