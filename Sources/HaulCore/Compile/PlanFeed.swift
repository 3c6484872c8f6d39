import JobLedger
import JobModel

/// Hands transfers, and rows that are kept, on in their order and in batches.
final class PlanFeed {
  private static let (transfers, rows) = (128, 4096)
  private let give: (PlanBatch) throws -> Void
  private var batch = PlanBatch()
  private var kept: [RowMark] = []

  init(_ give: @escaping (PlanBatch) throws -> Void) { self.give = give }

  func add(_ transfer: PlannedTransfer, identity: ArraySlice<UInt8>, former: ArraySlice<UInt8>?) throws {
    try giveRows()
    batch.append(transfer, identity: identity, former: former)
    if batch.count >= Self.transfers { try giveTransfers() }
  }

  func keep(_ row: RowMark) throws {
    try giveTransfers()
    kept.append(row)
    if kept.count >= Self.rows { try giveRows() }
  }

  func end() throws {
    try giveRows()
    try giveTransfers()
  }

  private func giveTransfers() throws {
    guard batch.count > 0 else { return }
    try give(batch)
    batch = PlanBatch()
  }

  private func giveRows() throws {
    guard !kept.isEmpty else { return }
    try give(PlanBatch(kept: kept))
    kept.removeAll(keepingCapacity: true)
  }
}
