package import JobModel
import SQLite

/// A transfer as the ledger holds it: its plan, where it stands, what is recorded of it.
package struct LedgerTransfer: Sendable {
  package var seq: Int64
  package var id: String
  package var profile: Int64
  /// Held once for all transfers of the profile.
  @usableFromInline var sharedSettings: CopyOnWrite<TransferSettings>
  package var source: Place
  package var destination: Place
  package var takesSourceName: Bool
  package var expect: Expectation
  package var knownSize: Int64?
  /// When it came into the plan, seconds since 1970; nil where an older haul put it there.
  package var createdAt: Double?
  /// Its place in the plan of the whole job, from 1 on; nil unless the plan is one part's.
  package var ordinal: Int64?
  package var state: TransferState
  /// Chunks of it are recorded.
  package var hasChunks: Bool
  package var progress: TransferProgress

  @inlinable package var settings: TransferSettings {
    _read { yield sharedSettings.wrappedValue }
    _modify { yield &sharedSettings.wrappedValue }
  }

  /// Where the bytes come from or go to; of a copy, where they go to.
  package var remote: Place { settings.direction.writesRemote ? destination : source }

  /// The path of a download's file by the plan, whose run values may be others than when it was last moved; nil while only the
  /// server knows its name.
  package var plannedPath: String? { plannedPath(progress) }

  package func plannedPath(_ progress: TransferProgress) -> String? {
    guard takesSourceName else { return destination.localPath }
    return progress.resolvedDestination.map { (destination.localPath ?? "") + PathParts($0).name }
  }

  /// Something was begun for it, and is not forgotten.
  package var hasProgress: Bool {
    hasChunks || progress.session != nil || progress.chunksCompleted > 0 || progress.contiguousBytes > 0
      || progress.completedAt != nil
  }

  /// Columns that `init` reads, in the order of the join.
  static let columns = """
    t.profile, t.seq, t.id, t.source, t.destination, t.takes_source_name, t.expect, t.known_size, t.state,
    t.reason, t.created_at, t.ordinal, EXISTS (SELECT 1 FROM chunk WHERE transfer = t.seq), p.attributes,
    p.*
    """
  static let join = "transfer t LEFT JOIN progress p ON p.transfer = t.seq"

  init(_ row: Row, settings: CopyOnWrite<TransferSettings>, _ texts: inout RepeatedTexts) {
    // By number: a name is looked up among all columns, each time.
    profile = row[0]
    seq = row[1]
    id = row[2]
    sharedSettings = settings
    source = Place(row[3] as String)
    destination = Place(row[4] as String)
    takesSourceName = row[5]
    expect = (row[6] as String?).map(ExpectationRow.read) ?? Expectation()
    knownSize = row[7]
    state = TransferState(word: row[8], reason: row[9]) ?? .queued(nil)
    createdAt = row[10]
    ordinal = row[11]
    hasChunks = row[12]
    progress = ProgressRow.read(row, from: 14, &texts)
    if let text = row[13] as String? { progress.attributes = AttributesText.read(text) }
  }
}
