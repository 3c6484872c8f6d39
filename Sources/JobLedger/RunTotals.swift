package import JobModel
import SQLite

/// What a run came to, kept with it: the plan's own rows speak of the last run alone.
package struct RunTotals: Sendable, Hashable {
  package var counts: StateCounts
  package var sums: TransferSums

  /// The names of the counts, as reports have them.
  private static let states: [(name: String, path: any WritableKeyPath<StateCounts, Int> & Sendable)] = [
    ("completed", \.completed), ("up_to_date", \.upToDate), ("failed", \.failed), ("paused", \.paused),
    ("canceled", \.canceled), ("queued", \.queued), ("skipped", \.skipped),
  ]
  private static let bytes: [(name: String, path: any WritableKeyPath<TransferSums, Int64> & Sendable)] = [
    ("bytes_planned", \.planned), ("bytes_transferred", \.transferred), ("bytes_reused", \.reused),
    ("bytes_discarded", \.discarded), ("requests", \.requests), ("retries", \.retries),
  ]

  /// Its numbers by their names: `transfers`, each state, bytes, `requests`, `retries`.
  package var members: [JSON.Member] {
    [.init("transfers", .int(counts.total))]
      + Self.states.map { .init($0.name, .int(counts[keyPath: $0.path])) }
      + Self.bytes.map { .init($0.name, .int(sums[keyPath: $0.path])) }
  }

  /// The names of `members`.
  package static var names: [String] { ["transfers"] + states.map(\.name) + bytes.map(\.name) }

  /// Of the plan as it stands.
  static func current(_ db: Database) throws -> RunTotals {
    RunTotals(counts: try JobLedger.counts(db), sums: try JobLedger.sums(db))
  }

  /// A run's column; nil for a run of an older haul.
  static func read(_ text: String?) -> RunTotals? {
    guard let json = text.map(JSONText.init) else { return nil }
    var totals = RunTotals(
      counts: StateCounts(),
      sums: TransferSums(planned: 0, transferred: 0, reused: 0, discarded: 0, requests: 0, retries: 0))
    for (name, path) in states { totals.counts[keyPath: path] = json.int(name) ?? 0 }
    for (name, path) in bytes { totals.sums[keyPath: path] = json.int64(name) ?? 0 }
    return totals
  }

  var text: String { JSON.object(members).text }
}

/// What transfers moved in the last run that are removed from the ledger: they left the manifest, or have another source,
/// since the attempt before.
enum RemovedSums {
  static let meta = "removed_sums"

  static func read(_ db: Database) throws -> TransferSums? {
    let text = try String.fetchOne(db, sql: "SELECT value FROM meta WHERE name = ?", arguments: [meta])
    return RunTotals.read(text)?.sums
  }

  /// Takes in a transfer that is about to be removed. Bytes of a file that is not complete are lost with it.
  static func add(_ seq: Int64, _ db: Database) throws {
    let row = try Row.fetchOne(
      db,
      sql: """
        SELECT transferred, reused, CASE WHEN completed_at IS NULL THEN transferred ELSE discarded END,
          requests, retries
        FROM progress WHERE transfer = ? AND (transferred > 0 OR reused > 0 OR requests > 0 OR retries > 0)
        """, arguments: [seq])
    guard let row else { return }
    var sums = TransferSums(
      planned: 0, transferred: row[0], reused: row[1], discarded: row[2], requests: row[3], retries: row[4])
    if let before = try read(db) { sums.add(before) }
    try db.execute(
      sql: "INSERT OR REPLACE INTO meta VALUES (?, ?)",
      arguments: [meta, RunTotals(counts: StateCounts(), sums: sums).text])
  }
}

extension JobLedger {
  /// What the last run has come to so far.
  package func totals() throws -> RunTotals { try read { db in try RunTotals.current(db) } }
}
