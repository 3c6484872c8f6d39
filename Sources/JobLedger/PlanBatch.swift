package import JobModel

/// Some transfers on their way into the plan, as bytes: what one thread puts together, another binds to SQLite as it lies.
package struct PlanBatch: Sendable {
  struct Row {
    /// Where each text ends in `bytes`; it begins where the one before ends.
    var id: Int
    var source: Int
    var destination: Int
    /// As `destination` where nothing is expected.
    var expect: Int
    /// Eight bytes that begin here are the identity, before the id.
    var start: Int
    var knownSize: Int64?
    var takesSourceName: Bool
    var ordinal: Int64?
    var rowDigest: UInt64?
    /// Index in `settings`.
    var settings: Int
  }

  private(set) var bytes: [UInt8] = []
  private(set) var rows: [Row] = []
  /// With the number of the group that shares them (`PlannedTransfer.settingsGroup`).
  private(set) var settings: [(value: TransferSettings, group: Int?)] = []

  /// By row: the identity that the plan of the version before has it under, where that is another.
  private var former: [Int: [UInt8]] = [:]

  /// Rows of files that are as they were, in place of transfers.
  let kept: [RowMark]

  package init() { kept = [] }
  package init(kept: [RowMark]) { self.kept = kept }

  package var count: Int { rows.count }

  /// - Parameters:
  ///   - identity: 8 bytes of what progress belongs to.
  ///   - former: those of the version before, where they differ and mean the same.
  package mutating func append(
    _ transfer: PlannedTransfer, identity: some Collection<UInt8>, former: ArraySlice<UInt8>? = nil
  ) {
    precondition(identity.count == 8)
    if rows.isEmpty {
      rows.reserveCapacity(128)
      bytes.reserveCapacity(48 << 10)
    }
    if let former, !former.elementsEqual(identity) { self.former[rows.count] = Array(former) }
    let start = bytes.count
    bytes += identity
    bytes += transfer.id.utf8
    let id = bytes.count
    bytes += transfer.source.text.utf8
    let source = bytes.count
    bytes += transfer.destination.text.utf8
    let destination = bytes.count
    ExpectationRow.write(transfer.expect, to: &bytes)
    if settings.isEmpty || transfer.settingsGroup == nil || settings.last?.group != transfer.settingsGroup {
      settings.append((transfer.settings, transfer.settingsGroup))
    }
    rows.append(
      Row(
        id: id, source: source, destination: destination, expect: bytes.count, start: start,
        knownSize: transfer.knownSize, takesSourceName: transfer.takesSourceName, ordinal: transfer.ordinal,
        rowDigest: transfer.rowDigest, settings: settings.count - 1))
  }

  func formerIdentity(_ index: Int) -> [UInt8]? { former[index] }
  func identity(_ row: Row) -> ArraySlice<UInt8> { bytes[row.start..<row.start + 8] }
  func id(_ row: Row) -> String { text(row.start + 8, row.id) }
  func source(_ row: Row) -> String { text(row.id, row.source) }
  func destination(_ row: Row) -> String { text(row.source, row.destination) }
  func expect(_ row: Row) -> String? {
    row.expect == row.destination ? nil : text(row.destination, row.expect)
  }

  private func text(_ start: Int, _ end: Int) -> String {
    String(decoding: bytes[start..<end], as: UTF8.self)
  }
}
