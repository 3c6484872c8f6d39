package import JobModel
import SQLite

/// A transfer whose work ended in the run.
package struct EndedTransfer: Sendable {
  package var change: StateChange
  /// Seconds since 1970.
  package var endedAt: Double
  /// Bytes in the run.
  package var transferred: Int64
  package var reused: Int64
  package var discarded: Int64
}

/// A transfer whose state is changed by a statement that changes many.
package struct StateChange: Sendable {
  package var seq: Int64
  package var id: String
  package var from: TransferState
  package var to: TransferState
  package var failure: Failure?
}

extension JobLedger {
  static let pageOfChanges = 512

  /// Tells of the transfers that have no turn in the attempt that begins: disabled, paused by a user, canceled.
  ///
  /// - Parameter isSelective: of those alone that the attempt was asked for.
  package func tellLeftOut(isSelective: Bool, to tell: (StateChange) -> Void) throws {
    try visit(
      where: """
        (state = 'skipped' AND reason = 'disabled' OR state = 'paused' AND reason = 'user' OR state = 'canceled')
          \(Self.condition(isSelective))
        """
    ) { tell(StateChange(seq: $0, id: $1, from: .queued(nil), to: $2)) }
  }

  /// Tells of the transfers whose work ended behind a moment of the run and came to something, in that order.
  ///
  /// - Parameter moment: seconds since 1970.
  package func tellEnded(after moment: Double, to tell: (EndedTransfer) -> Void) throws {
    try read { db in
      let rows = try Row.fetchCursor(
        db,
        sql: """
          SELECT t.seq, t.id, t.state, t.reason, p.ended_at, p.failure, p.transferred, p.reused, p.discarded
          FROM progress p JOIN transfer t ON t.seq = p.transfer
          WHERE p.ended_at > ? AND t.live = 1
            AND (t.state IN ('completed', 'up_to_date', 'failed', 'skipped')
              OR t.state = 'paused' AND t.reason = 'retries')
          ORDER BY p.ended_at
          """, arguments: [moment])
      while let row = try rows.next() {
        guard let state = TransferState(word: row[2] as String, reason: row[3] as String?) else { continue }
        let isFailure = ["failed", "paused"].contains(state.word)
        let failure = isFailure ? (row[5] as String?).flatMap { ProgressRow.readFailure(JSONText($0)) } : nil
        let change = StateChange(seq: row[0], id: row[1], from: .running, to: state, failure: failure)
        tell(
          EndedTransfer(
            change: change, endedAt: row[4], transferred: row[6], reused: row[7], discarded: row[8]))
      }
    }
  }

  /// Tells of the transfers that a statement is about to bring to a state.
  ///
  /// - Parameters:
  ///   - condition: the statement's, on the columns of `transfer`.
  ///   - tell: nil where nobody follows: nothing is read then.
  func announce(
    where condition: String, _ arguments: StatementArguments = [], to state: TransferState,
    failure: Failure? = nil, _ tell: ((StateChange) -> Void)?
  ) throws {
    guard let tell else { return }
    try visit(where: condition, arguments) { seq, id, old in
      if old != state { tell(StateChange(seq: seq, id: id, from: old, to: state, failure: failure)) }
    }
  }

  /// Visits live transfers a page at a time: whoever is told of them may take long, and holds no transaction open.
  private func visit(
    where condition: String, _ arguments: StatementArguments = [],
    _ body: (_ seq: Int64, _ id: String, _ state: TransferState) -> Void
  ) throws {
    var last: Int64? = 0
    while let seq = last {
      let page = try read { db in
        try Row.fetchAll(
          db,
          sql: """
            SELECT seq, id, state, reason FROM transfer WHERE (\(condition)) AND live = 1 AND seq > \(seq)
            ORDER BY seq LIMIT \(Self.pageOfChanges)
            """, arguments: arguments
        ).map { (seq: $0[0] as Int64, id: $0[1] as String, word: $0[2] as String, reason: $0[3] as String?) }
      }
      for row in page {
        guard let state = TransferState(word: row.word, reason: row.reason) else { continue }
        body(row.seq, row.id, state)
      }
      last = page.count == Self.pageOfChanges ? page.last?.seq : nil
    }
  }
}
