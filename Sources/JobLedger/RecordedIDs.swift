import Posix
import SQLite

/// The ids of a job's plan, for who only looks: the plan is not changed, not migrated, and not waited for.
package enum RecordedIDs {
  /// The first ids, in their order, that begin so; none where the plan can't be read.
  package static func beginning(with prefix: String, in folder: String, limit: Int) -> [String] {
    let path = folder + "/plan.sqlite"
    do {
      // Without a log nobody has the plan open, and a reader would make one.
      let access: Database.Access = Files.exists(path + "-wal") ? .readOnly : .immutable
      return try String.fetchAll(
        try Database(path: path, access, busyTimeout: 0),
        sql: "SELECT id FROM transfer WHERE live = 1 AND id >= ?1 AND id < ?1 || ?2 ORDER BY id LIMIT ?3",
        arguments: [prefix, "\u{10FFFF}", limit])
    } catch {
      return []
    }
  }
}
