/// Why the state of a job can't be used; the message says what to do.
package enum LedgerError: Error, Sendable, Equatable, CustomStringConvertible {
  /// Made by a newer haul: this one does not know its tables.
  case newer(path: String)
  case unreadable(path: String, detail: String)
  case unwritable(path: String, detail: String)

  package var description: String {
    switch self {
    case .newer(let path):
      "the state `\(path)` was written by a newer haul; use that version, or another --state-dir"
    case .unreadable(let path, let detail):
      "the state `\(path)` can't be read: \(detail); restore it from a copy, or move it away to start anew"
    case .unwritable(let path, let detail):
      "the state `\(path)` can't be written: \(detail)"
    }
  }
}
