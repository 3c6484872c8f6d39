import JobLedger
import Locks

/// Which transfers may have an intent on record, so that the ledger is read for them alone.
final class KnownIntents: Sendable {
  /// Nil before the ledger was asked.
  private let seqs = Locked<Set<Int64>?>(nil)

  func mayHave(_ seq: Int64, in ledger: JobLedger) throws -> Bool {
    try seqs.withLock { seqs in
      let known = try seqs ?? ledger.intended()
      seqs = known
      return known.contains(seq)
    }
  }

  /// One is about to be recorded.
  func add(_ seq: Int64) { seqs.withLock { _ = $0?.insert(seq) } }

  /// It is about to be forgotten.
  func remove(_ seq: Int64) { seqs.withLock { _ = $0?.remove(seq) } }
}
