import JobLedger
import Locks

/// Which transfers may have an intent on record, so that the ledger is read for them alone.
final class IntentCache: Sendable {
  /// Nil before the ledger was asked.
  private let counts = Locked<[Int64: Int]?>(nil)

  func mayHave(_ seq: Int64, in ledger: JobLedger) throws -> Bool {
    try counts.withLock { counts in
      let known = try counts ?? ledger.intended()
      counts = known
      return known[seq] != nil
    }
  }

  /// One is about to be recorded.
  func add(_ seq: Int64) { counts.withLock { $0?[seq, default: 0] += 1 } }

  /// One is about to be forgotten.
  func remove(_ seq: Int64) {
    counts.withLock { counts in
      guard let count = counts?[seq] else { return }
      counts?[seq] = count > 1 ? count - 1 : nil
    }
  }
}
