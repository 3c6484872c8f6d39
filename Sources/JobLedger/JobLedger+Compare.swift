import SQLite

/// What the plan on record has for a transfer of a plan compiled apart.
package enum PlanMatch: Sendable {
  /// Nothing under its id.
  case none
  /// Another transfer under its id: another source, destination or endpoint.
  case other
  case same(LedgerTransfer)
}

extension JobLedger {
  /// What `other` has for a page of this plan's transfers.
  package func matches(_ page: [LedgerTransfer], in other: JobLedger) throws -> [PlanMatch] {
    let identities = try read { db in
      try page.map {
        try [UInt8].fetchOne(
          db.cachedStatement(sql: "SELECT identity FROM transfer WHERE seq = ?"), arguments: [$0.seq])
      }
    }
    return try other.read { db in
      try zip(page, identities).map { transfer, identity in
        let same = try other.fetch(
          db,
          sql: """
            SELECT \(LedgerTransfer.columns) FROM \(LedgerTransfer.join) WHERE t.id = ? AND t.identity = ?
            """, [transfer.id, identity], isRepeated: true
        ).first
        if let same { return .same(same) }
        return try Self.has(transfer.id, db) ? .other : .none
      }
    }
  }

  /// Whether the plan has a transfer of that id and identity (8 bytes).
  package func holds(_ id: String, identity: ArraySlice<UInt8>) throws -> Bool {
    try read { db in
      try Bool.fetchOne(
        db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM transfer WHERE id = ? AND identity = ?)"),
        arguments: [id, Array(identity)]) ?? false
    }
  }

  /// Ids of this plan that `other` does not have: how many, and the first `limit`.
  package func absent(in other: JobLedger, limit: Int) throws -> (count: Int, ids: [String]) {
    var (count, ids, last): (Int, [String], Int64) = (0, [], 0)
    while true {
      let page = try read { db in
        try Row.fetchAll(
          db, sql: "SELECT seq, id FROM transfer WHERE live = 1 AND seq > ? ORDER BY seq LIMIT 512",
          arguments: [last]
        ).map { (seq: $0[0] as Int64, id: $0[1] as String) }
      }
      guard let end = page.last else { return (count, ids) }
      last = end.seq
      let gone = try other.read { db in try page.map(\.id).filter { try !Self.has($0, db) } }
      count += gone.count
      ids += gone.prefix(limit - ids.count)
    }
  }

  private static func has(_ id: String, _ db: Database) throws -> Bool {
    try Bool.fetchOne(
      db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM transfer WHERE id = ? AND live = 1)"),
      arguments: [id]) ?? false
  }
}
