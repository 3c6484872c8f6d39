import Glibc
import JobModel
import Posix
import SQLite

extension JobLedger {
  /// Copies the ledger, as it is now, into a folder that has none. The copy is a draft: it is not synced.
  package func copy(to folder: String) throws {
    let path = folder + "/plan.sqlite"
    let descriptor = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw LedgerError.unwritable(path: path, detail: "\(SystemError())") }
    close(descriptor)
    do {
      let copy = try Database(path: path)
      try copy.execute(sql: "PRAGMA synchronous = OFF")
      try read { db in try db.copy(to: copy) }
      try copy.close()
    } catch let error as DatabaseError { throw LedgerError.from(error, path: path) }
  }

  /// The last row, retired ones included; 0 where there is none.
  package func lastRow() throws -> Int64 {
    try read { db in try Int64.fetchOne(db, sql: "SELECT max(seq) FROM transfer") ?? 0 }
  }

  package func has(_ id: String) throws -> Bool {
    try read { db in
      try Bool.fetchOne(
        db.cachedStatement(sql: "SELECT EXISTS (SELECT 1 FROM transfer WHERE id = ? AND live = 1)"),
        arguments: [id]) ?? false
    }
  }

  /// Forgets what left the plan, in a draft of a job that has never run: nothing was begun for it.
  package func forgetRetired() throws {
    try write { db in
      try db.execute(sql: "DELETE FROM transfer WHERE live = 0")
      try LeftManifest.forget(db)
    }
  }

  /// Whether a destination's folder is one of those that `isHeld` names; folders end in `/`, the job's own is empty.
  package func hasDestination(in isHeld: (String) -> Bool) throws -> Bool {
    try read { db in
      let rows = try String.fetchCursor(db, sql: "SELECT destination FROM transfer WHERE live = 1")
      var last: ByteText?
      while let text = try rows.next() {
        let folder = RelativePath.folder(text)
        // Most rows share their folder with the one before.
        if let last, last.text.utf8.elementsEqual(folder.utf8) { continue }
        last = ByteText(folder)
        if Place(text).isLocal, isHeld(folder) { return true }
      }
      return false
    }
  }
}
