import JobLedger
import JobModel
import Locks

/// Records a run's warnings by cause: the first of each at once, then how many there were, so that neither the ledger
/// nor the memory grows with a plan's length.
package final class WarningTally: Sendable {
  private struct Entry {
    var first: Diagnostic
    var count: Int
    var ids: [String]
    var isRecorded = true
    /// All said the same, numbers included.
    var isOneMessage = true
  }
  private static let limit = 200
  private let entries = Locked<[String: Entry]>([:])
  private let writer: LedgerWriter
  private let run: Int

  init(_ writer: LedgerWriter, run: Int) {
    self.writer = writer
    self.run = run
  }

  func note(_ diagnostic: Diagnostic) {
    guard run > 0 else { return }
    guard let id = diagnostic.subject else { return writer.submit(.diagnostic(run: run, diagnostic)) }
    let key = CauseMessage.general(diagnostic.message, id: id)
    let isFirst = entries.withLock { entries -> Bool in
      if entries[key] == nil {
        guard entries.count < Self.limit else { return false }
        entries[key] = Entry(first: diagnostic, count: 1, ids: [id])
        return true
      }
      entries[key]?.count += 1
      entries[key]?.isRecorded = false
      if entries[key]?.first.message != diagnostic.message { entries[key]?.isOneMessage = false }
      if let ids = entries[key]?.ids, ids.count < CauseTally.named, !ids.contains(id) {
        entries[key]?.ids.append(id)
      }
      return false
    }
    if isFirst { writer.submit(.diagnostic(run: run, diagnostic)) }
  }

  /// Records how many there were of each cause since.
  package func flush() {
    let news = entries.withLock { entries in
      entries.filter { !$0.value.isRecorded }.map { key, entry in
        entries[key]?.isRecorded = true
        return (key, entry)
      }
    }
    for (key, entry) in news {
      let message = entry.isOneMessage ? entry.first.message : key
      writer.submit(
        .diagnosticCount(run: run, entry.first, message: message, count: entry.count, ids: entry.ids))
    }
  }
}
