import SQLite

/// A row as its file has it now.
package struct RenewedRow: Sendable {
  package var id: String
  package var source: String
  package var destination: String

  package init(id: String, source: String, destination: String) {
    self.id = id
    self.source = source
    self.destination = destination
  }
}

extension JobLedger {
  /// Takes new queries of URLs over; what differs in more than that is another transfer, and left to the next compiling.
  package func renewURLs(_ rows: [RenewedRow]) throws {
    guard !rows.isEmpty else { return }
    try write { db in
      // They are no longer what the rows said that the plan was compiled from.
      try db.execute(sql: "DELETE FROM meta WHERE name = ?", arguments: [Self.rowsFrom])
      for row in rows {
        for (column, value) in [("source", row.source), ("destination", row.destination)]
        where value.utf8.contains(UInt8(ascii: "?")) {
          try db.cachedStatement(
            sql: """
              UPDATE transfer SET \(column) = ?1 WHERE id = ?2 AND live = 1 AND \(column) != ?1
                AND substr(\(column), 1, instr(\(column) || '?', '?')) = substr(?1, 1, instr(?1, '?'))
              """
          ).execute(arguments: [value, row.id])
        }
      }
    }
  }
}
