/// Why the state of a job can't be used; the message says what to do.
package enum LedgerError: Error, Sendable, Equatable, CustomStringConvertible {
  /// Made by a newer haul: this one does not know its tables.
  case newer(path: String)
  /// Made by an older haul: its tables have to be changed first, and only who holds the run lock may.
  case older(path: String)
  /// Commits that were made to it are missing: its log was cut or removed, or it is an older copy.
  case behind(path: String, commits: Int64)
  case unreadable(path: String, detail: String)
  case unwritable(path: String, detail: String)
  /// Another process has held its lock for as long as anybody waits for it.
  case busy(path: String)

  package var description: String {
    switch self {
    case .newer(let path):
      "the state `\(path)` was written by a newer haul; use that version, or another --state-dir"
    case .older(let path):
      "the state `\(path)` was written by an older haul and has to be brought up to date; `haul run` does that"
    case .behind(let path, let commits):
      "the state `\(path)` lacks the last \(commits) commits that were made to it: its log `plan.sqlite-wal` was cut or removed, or an older copy took its place; put the right files back, or remove `plan.commits` beside it to go on from what is there"
    case .unreadable(let path, let detail):
      "the state `\(path)` can't be read: \(detail); restore the job's state folder from a copy, or move it away to start anew"
    case .unwritable(let path, let detail):
      "the state `\(path)` can't be written: \(detail); check its folder and the space left there, then run the same command again: what was recorded is kept"
    case .busy(let path):
      "another process has been writing the state `\(path)` for more than 10 s; run the same command again"
    }
  }
}
