package import JobModel
import SQLite

/// A part of a listing: what lies below a prefix, as far as it was told.
package struct ListingPart: Sendable, Hashable {
  /// The listing's own prefix, and what is behind it.
  package var prefix: String
  /// Where the part goes on: the last name that was told, or the server's mark; nil at its beginning.
  package var position: String?
  package var isDone: Bool

  package init(prefix: String, position: String? = nil, isDone: Bool = false) {
    self.prefix = prefix
    self.position = position
    self.isDone = isDone
  }
}

/// A name that a listing has told, below the listing's prefix.
package struct ListedName: Sendable, Hashable {
  package var path: String
  /// Bytes; nil where the server does not say.
  package var size: Int64?
  /// When it was stored, seconds since 1970; nil where the server does not say.
  package var modified: Double?
  /// nil for files.
  package var nonFile: NonFile?

  package init(path: String, size: Int64?, modified: Double? = nil, nonFile: NonFile? = nil) {
    self.path = path
    self.size = size
    self.modified = modified
    self.nonFile = nonFile
  }
}

/// Listings of remote prefixes that plans are compiled from: recorded page by page, so that a compile that was killed goes
/// on from there. A plan that is compiled forgets them.
extension JobLedger {
  /// Seconds after which what was told last is too old to be gone on from.
  private static let age = 6 * 3600.0
  /// The same of a listing that is whole: what goes on from it is another one's listing.
  private static let wholeAge = 900.0

  /// The listing that is known by `key`: begun, or gone on with. Others may be of this compile: the plan forgets them.
  ///
  /// - Parameter now: seconds since 1970.
  package func listing(
    _ key: String, of prefix: String, now: Double
  ) throws -> (number: Int64, parts: [ListingPart]) {
    try write { db in
      try db.execute(
        sql: """
          DELETE FROM listing WHERE "key" = ?1 AND updated_at NOT BETWEEN ?4 - CASE WHEN EXISTS (
            SELECT 1 FROM listing_part WHERE listing = listing.number AND NOT is_done) THEN ?2 ELSE ?3 END AND ?4
          """, arguments: [key, Self.age, Self.wholeAge, now])
      if let number = try Int64.fetchOne(
        db, sql: "SELECT number FROM listing WHERE \"key\" = ?", arguments: [key])
      {
        let rows = try Row.fetchAll(
          db, sql: "SELECT prefix, position, is_done FROM listing_part WHERE listing = ?", arguments: [number]
        )
        return (
          number,
          rows.map {
            ListingPart(
              prefix: Self.text($0[0]), position: ($0[1] as [UInt8]?).map(Self.text), isDone: $0[2])
          }
        )
      }
      try db.execute(
        sql: "INSERT INTO listing (\"key\", updated_at) VALUES (?, ?)", arguments: [key, now])
      guard
        let number = try Int64.fetchOne(
          db, sql: "SELECT number FROM listing WHERE \"key\" = ?", arguments: [key])
      else { throw LedgerError.unwritable(path: path, detail: "a listing was not recorded") }
      let whole = ListingPart(prefix: prefix)
      try Self.insert(whole, listing: number, db)
      return (number, [whole])
    }
  }

  /// The listing that is known by `key`; nil where there is none.
  package func listingNumber(_ key: String) throws -> Int64? {
    try read { db in
      try Int64.fetchOne(db, sql: "SELECT number FROM listing WHERE \"key\" = ?", arguments: [key])
    }
  }

  /// Records what a page told, how far its part is now, and the parts that take its place.
  ///
  /// - Returns: whether the page's first name, or its last, is new.
  @discardableResult
  package func record(
    _ names: [ListedName], in listing: Int64, _ part: ListingPart, more: [ListingPart] = [], now: Double
  ) throws -> Bool {
    try write { db in
      let isNew = try [names.first, names.last].contains { name in
        guard let name else { return false }
        return try Int.fetchOne(
          db, sql: "SELECT 1 FROM listed_name WHERE listing = ? AND path = ?",
          arguments: [listing, Array(name.path.utf8)]) == nil
      }
      for name in names {
        try db.execute(
          sql: "INSERT OR REPLACE INTO listed_name VALUES (?, ?, ?, ?, ?)",
          arguments: [listing, Array(name.path.utf8), name.size, name.modified, name.nonFile?.rawValue])
      }
      for one in [part] + more { try Self.insert(one, listing: listing, db) }
      try db.execute(
        sql: "UPDATE listing SET updated_at = ? WHERE number = ?", arguments: [now, listing])
      return isNew
    }
  }

  private static func insert(_ part: ListingPart, listing: Int64, _ db: Database) throws {
    try db.execute(
      sql: "INSERT OR REPLACE INTO listing_part VALUES (?, ?, ?, ?)",
      arguments: [listing, Array(part.prefix.utf8), part.position.map { Array($0.utf8) }, part.isDone])
  }

  /// Some names in the order of their bytes.
  package func listed(_ listing: Int64, after path: String?, most: Int) throws -> [ListedName] {
    try read { db in
      let rows = try Row.fetchAll(
        db, sql: Self.namesQuery(isFirst: path == nil),
        arguments: [listing, Array((path ?? "").utf8), most])
      return rows.map {
        ListedName(
          path: Self.text($0[0]), size: $0[1], modified: $0[2],
          nonFile: ($0[3] as String?).flatMap { NonFile(rawValue: $0) })
      }
    }
  }

  /// A comparison with the path alone lets SQLite begin there; no blob is less than the empty one, which a prefix's own mark is.
  static func namesQuery(isFirst: Bool) -> String {
    "SELECT path, size, modified, non_file FROM listed_name WHERE listing = ? AND path \(isFirst ? ">=" : ">") ? ORDER BY path LIMIT ?"
  }

  /// A listing has told a name.
  package func hasListed() throws -> Bool {
    try read { db in try Int64.fetchOne(db, sql: "SELECT 1 FROM listed_name LIMIT 1") != nil }
  }

  /// It can't be gone on with.
  package func forgetListing(_ number: Int64) throws {
    try write { db in try db.execute(sql: "DELETE FROM listing WHERE number = ?", arguments: [number]) }
  }

  /// Forgets what was listed: the next run lists anew.
  package func forgetListings() throws { try write { db in try Self.forgetListings(db) } }

  static func forgetListings(_ db: Database) throws { try db.execute(sql: "DELETE FROM listing") }

  private static func text(_ bytes: [UInt8]) -> String { String(decoding: bytes, as: UTF8.self) }
}
