package import JobModel
import SQLite

/// The files of downloads that left the manifest: for whoever has their destinations later, they are the job's own.
enum WrittenFile {
  static let table = """
    CREATE TABLE written_file (
      number INTEGER PRIMARY KEY,
      -- As the transfer had it: relative to the job's folder unless absolute.
      path TEXT NOT NULL,
      -- Of 64 bits, unsigned.
      inode TEXT NOT NULL,
      size INTEGER NOT NULL,
      -- Nanoseconds since 1970.
      mtime INTEGER NOT NULL,
      -- 1: it was about to take its name, and `mtime` is the latest that it can have.
      is_intended INTEGER NOT NULL CHECK (is_intended IN (0, 1)),
      UNIQUE (path, inode)
    ) STRICT;
    """

  /// Records what retired downloads put in their places, or were about to; so many older records are kept.
  static let remember = """
    DELETE FROM written_file WHERE number <= (SELECT max(number) FROM written_file) - 100000;
    INSERT OR REPLACE INTO written_file (path, inode, size, mtime, is_intended)
    SELECT \(path), printf('%u', p.intended_inode), p.size, CAST(p.updated_at * 1e9 AS INTEGER), 1
    \(retired) AND p.completed_at IS NULL AND p.intended_inode IS NOT NULL AND p.size IS NOT NULL
      AND p.updated_at IS NOT NULL;
    INSERT OR REPLACE INTO written_file (path, inode, size, mtime, is_intended)
    SELECT \(path), p.destination_facts ->> 'inode', p.destination_facts ->> 'size',
      p.destination_facts ->> 'mtime', 0
    \(retired) AND p.destination_facts IS NOT NULL;
    """

  private static let path = "coalesce(p.resolved_destination, t.destination)"
  private static let retired = """
    FROM transfer t JOIN progress p ON p.transfer = t.seq
    WHERE t.live = 0 AND t.profile IN
      (SELECT id FROM profile WHERE json_extract(settings, '$.direction') = 'download')
    """
}

extension JobLedger {
  /// Whether a download that left the manifest put this file at the path, and nobody has written to it since.
  package func wrote(_ file: FileFacts, at path: String) throws -> Bool {
    try read { db in
      try Bool.fetchOne(
        db.cachedStatement(
          sql: """
            SELECT EXISTS (SELECT 1 FROM written_file WHERE path = ?1 AND inode = ?2 AND size = ?3
              AND (mtime = ?4 OR is_intended = 1 AND mtime > ?4))
            """), arguments: [path, String(file.inode), file.size, file.mtime]) ?? false
    }
  }
}
