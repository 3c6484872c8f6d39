import JobModel
import SQLite

/// Stores new transfers. They are bound where they lie in their batch: an argument each, as a value of its
/// own, costs as much as SQLite itself.
final class TransferInsert {
  private let statement: Statement
  private let now: Double

  /// - Parameter now: seconds since 1970.
  init(_ db: Database, at now: Double) throws {
    self.now = now
    statement = try db.makeStatement(
      sql: """
        INSERT INTO transfer (id, identity, profile, source, destination, takes_source_name, expect,
          known_size, state, reason, created_at, ordinal) VALUES (?,?,?,?,?,?,?,?,?,?,?,?)
        """)
  }

  /// - Parameters:
  ///   - rows: indexes in the batch.
  ///   - profiles: of each of the batch's settings.
  func insert(_ rows: Range<Int>, of batch: PlanBatch, profiles: [Int64]) throws {
    try statement.withBinding(to: batch.bytes) { binding in
      var settings: Int?
      for index in rows {
        let row = batch.rows[index]
        if settings != row.settings {
          settings = row.settings
          try bind(batch.settings[row.settings].value, profile: profiles[row.settings], binding)
        }
        try binding.bind(text: row.start + 8..<row.id, at: 1)
        try binding.bind(blob: row.start..<row.start + 8, at: 2)
        try binding.bind(text: row.id..<row.source, at: 4)
        try binding.bind(text: row.source..<row.destination, at: 5)
        try binding.bind(row.takesSourceName ? 1 : 0, at: 6)
        if row.expect == row.destination {
          try binding.bind(nil as Int64?, at: 7)
        } else {
          try binding.bind(text: row.destination..<row.expect, at: 7)
        }
        try binding.bind(row.knownSize, at: 8)
        try binding.bind(row.ordinal, at: 12)
        try binding.run()
      }
    }
  }

  /// What rows with the same settings have alike stays bound from one to the next.
  private func bind(_ settings: TransferSettings, profile: Int64, _ binding: BorrowedBinding) throws {
    let state = TransferState.fresh(settings)
    try binding.bind(profile, at: 3)
    try binding.bind(now, at: 11)
    try binding.bind(state.word, at: 9)
    try binding.bind(state.reason, at: 10)
  }
}
