import SQLite

/// A row of a file as the plan was compiled from it last.
package struct RowMark: Sendable, Hashable {
  /// Of the row's bytes, and of what they mean; never of the row that it became.
  package var digest: UInt64
  /// The transfer that it became.
  package var seq: Int64

  package init(digest: UInt64, seq: Int64) {
    self.digest = digest
    self.seq = seq
  }
}

/// Stores marks in the order of their rows, some thousands a record: a digest and a seq each, 16 bytes, little-endian.
final class RowMarkWriter {
  private static let block = 4096
  private let insert: Statement
  private var bytes: [UInt8] = []

  /// Forgets those of the last compile; who reads them does so in a transaction that began before.
  init(_ db: Database) throws {
    try db.execute(sql: "DELETE FROM row_mark")
    insert = try db.makeStatement(sql: "INSERT INTO row_mark (marks) VALUES (?)")
  }

  func add(_ mark: RowMark) throws {
    withUnsafeBytes(of: mark.digest.littleEndian) { bytes += $0 }
    withUnsafeBytes(of: mark.seq.littleEndian) { bytes += $0 }
    if bytes.count >= Self.block * 16 { try flush() }
  }

  func flush() throws {
    if !bytes.isEmpty { try insert.execute(arguments: [bytes]) }
    bytes.removeAll(keepingCapacity: true)
  }
}

extension JobLedger {
  /// Under which name the ledger keeps what its rows were compiled from, but for their files.
  static let rowsFrom = "rows_from"

  /// Whether the plan's rows were compiled with just this around them.
  package func hasRows(from base: String) throws -> Bool { try meta(Self.rowsFrom) == base }

  /// Some marks, in the order of the rows; none at the end.
  ///
  /// - Parameter block: 1, 2, and so on.
  package func rowMarks(_ block: Int64) throws -> [RowMark] {
    try read { db in
      let bytes = try [UInt8].fetchOne(
        db.cachedStatement(sql: "SELECT marks FROM row_mark WHERE number = ?"), arguments: [block])
      return (bytes ?? []).withUnsafeBytes { bytes in
        stride(from: 0, to: bytes.count - 15, by: 16).map { start in
          RowMark(
            digest: UInt64(littleEndian: bytes.loadUnaligned(fromByteOffset: start, as: UInt64.self)),
            seq: Int64(littleEndian: bytes.loadUnaligned(fromByteOffset: start + 8, as: Int64.self)))
        }
      }
    }
  }

  /// Whether a transfer that stays as it is has one of these ids, or a destination that `isTaken` names.
  package func clashes(_ ids: [String], in kept: RowSet, where isTaken: (String) -> Bool) throws -> Bool {
    try read { db in
      let find = try db.makeStatement(sql: "SELECT seq FROM transfer WHERE id = ? AND live = 1")
      for id in ids where try Int64.fetchOne(find, arguments: [id]).map(kept.contains) ?? false {
        return true
      }
      let rows = try Row.fetchCursor(db, sql: "SELECT seq, destination FROM transfer WHERE live = 1")
      while let row = try rows.next() {
        if kept.contains(row["seq"]), isTaken(row["destination"]) { return true }
      }
      return false
    }
  }
}
