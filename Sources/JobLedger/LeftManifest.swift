import JobModel
import SQLite

/// Transfers that left the manifest: how many, and the ids of the first.
package struct LeftManifest: Sendable, Hashable {
  package var count = 0
  package var ids: [String] = []

  /// Ids beyond are counted.
  package static let limit = 100
  private static let waiting = "left_manifest"

  package init() {}

  /// Notes what a compile found gone; the run that begins next takes it over.
  func note(_ db: Database) throws {
    guard count > 0 else { return }
    var all = try Self.noted(db)
    all.add(self)
    try db.execute(
      sql: "INSERT INTO meta VALUES (?, ?) ON CONFLICT (name) DO UPDATE SET value = excluded.value",
      arguments: [Self.waiting, all.json.text])
  }

  /// Gives what compiles noted to the run.
  static func take(run number: Int, _ db: Database) throws {
    let noted = try noted(db)
    guard noted.count > 0 else { return }
    let old = try String.fetchOne(
      db, sql: "SELECT left_manifest FROM run WHERE number = ?", arguments: [number])
    var all = old.map(parse) ?? LeftManifest()
    all.add(noted)
    try db.execute(
      sql: "UPDATE run SET left_manifest = ? WHERE number = ?", arguments: [all.json.text, number])
    try forget(db)
  }

  /// Drops what compiles noted.
  static func forget(_ db: Database) throws {
    try db.execute(sql: "DELETE FROM meta WHERE name = ?", arguments: [waiting])
  }

  /// Reads a run's column; what has come back since is left out.
  static func read(_ text: String?, _ db: Database) throws -> LeftManifest {
    guard let text else { return LeftManifest() }
    var left = parse(text)
    for id in left.ids
    where try Bool.fetchOne(
      db, sql: "SELECT EXISTS (SELECT 1 FROM transfer WHERE id = ? AND live = 1)", arguments: [id]) == true
    {
      left.ids.removeAll { $0 == id }
      left.count -= 1
    }
    return left
  }

  private static func noted(_ db: Database) throws -> LeftManifest {
    try String.fetchOne(db, sql: "SELECT value FROM meta WHERE name = ?", arguments: [waiting]).map(parse)
      ?? LeftManifest()
  }

  private mutating func add(_ other: LeftManifest) {
    let news = other.ids.filter { !ids.contains($0) }
    count += other.count - (other.ids.count - news.count)
    ids += news.prefix(max(0, Self.limit - ids.count))
  }

  private var json: JSON { ["count": .int(count), "ids": .array(ids.map { .string($0) })] }

  private static func parse(_ text: String) -> LeftManifest {
    let json = JSONText(text)
    var left = LeftManifest()
    left.count = json.int("count") ?? 0
    left.ids = json.strings("ids") ?? []
    return left
  }
}
