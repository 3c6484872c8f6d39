import Glibc
import JobModel
import Posix
import SQLite

/// How many commits were made to a plan, kept in it and in `plan.commits` beside it.
///
/// SQLite can't tell a log that was cut or removed from one that never had more: it would go on from an older state
/// as if nothing had happened. The number beside it is written after each commit, so it never is ahead of the plan's
/// own, unless commits were lost.
final class CommitTally: Sendable {
  private let path: String

  init(folder: String) { path = folder + "/plan.commits" }

  /// The number beside the plan; nil where there is none.
  ///
  /// - Throws: `LedgerError` where it can't be read.
  func read() throws -> Int64? {
    let bytes: [UInt8]
    do throws(SystemError) { bytes = try Files.read(path) } catch {
      if error.number == ENOENT { return nil }
      throw LedgerError.unreadable(path: path, detail: "\(error)")
    }
    let text = String(decoding: bytes, as: UTF8.self).trimmed(\.isWhitespace)
    // Made, but not yet written: the process ended in between.
    return text.isEmpty ? nil : Int64(text)
  }

  /// Notes the number, over the old one: that needs no space on a full disk.
  func write(_ commits: Int64) throws {
    let descriptor = open(path, O_WRONLY | O_CREAT | O_CLOEXEC | O_NOFOLLOW, 0o600)
    guard descriptor >= 0 else { throw fault() }
    defer { close(descriptor) }
    // Of one length always: what a shorter number would leave of a longer one can't be.
    let digits = String(commits)
    let text = String(repeating: "0", count: 19 - digits.count) + digits + "\n"
    guard pwrite(descriptor, text, text.utf8.count, 0) == text.utf8.count else { throw fault() }
  }

  private func fault() -> LedgerError { .unwritable(path: path, detail: "\(SystemError())") }

  static func count(_ db: Database) throws -> Int64 {
    try Int64.fetchOne(
      db.cachedStatement(sql: "SELECT CAST(value AS INTEGER) FROM meta WHERE name = 'commits'")) ?? 0
  }

  static func increment(_ db: Database) throws -> Int64 {
    try db.cachedStatement(
      sql: """
        INSERT INTO meta VALUES ('commits', '1')
        ON CONFLICT (name) DO UPDATE SET value = CAST(CAST(value AS INTEGER) + 1 AS TEXT)
        """
    ).execute()
    return try count(db)
  }
}
