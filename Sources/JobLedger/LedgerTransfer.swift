import GRDB
package import JobModel

/// A transfer as the ledger holds it: its plan, where it stands, what is recorded of it.
package struct LedgerTransfer: Sendable {
  package var seq: Int64
  package var id: String
  package var profile: Int64
  package var settings: TransferSettings
  package var source: Place
  package var destination: Place
  package var takesSourceName: Bool
  package var expect: Expectation
  package var knownSize: Int64?
  package var state: TransferState
  package var progress: TransferProgress

  /// Columns that `init` reads, in the order of the join.
  static let columns = """
    t.seq, t.id, t.profile, t.source, t.destination, t.takes_source_name, t.expect, t.known_size, t.state,
    t.reason, p.*
    """
  static let join = "transfer t LEFT JOIN progress p ON p.transfer = t.seq"

  init(_ row: Row, settings: TransferSettings) {
    seq = row["seq"]
    id = row["id"]
    profile = row["profile"]
    self.settings = settings
    source = Place(row["source"] as String)
    destination = Place(row["destination"] as String)
    takesSourceName = row["takes_source_name"]
    expect = (row["expect"] as String?).map(ExpectationRow.read) ?? Expectation()
    knownSize = row["known_size"]
    state = TransferState(word: row["state"], reason: row["reason"]) ?? .queued(nil)
    progress = ProgressRow.read(row)
  }
}
