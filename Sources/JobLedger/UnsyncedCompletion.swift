package import JobModel

/// A completion that is not known to be on the disk yet.
package struct UnsyncedCompletion: Sendable, Hashable {
  package var seq: Int64
  package var id: String
  package var state: TransferState
  package var destination: Place
  /// Of the file that was put in its place.
  package var inode: UInt64?
  /// Bytes that were not transferred in its last run.
  package var reused: Int64
  /// What is found out about this completion does not count for a later one of the transfer.
  package var completedAt: Double

  package init(
    seq: Int64, id: String, state: TransferState, destination: Place, inode: UInt64?, reused: Int64,
    completedAt: Double
  ) {
    self.seq = seq
    self.id = id
    self.state = state
    self.destination = destination
    self.inode = inode
    self.reused = reused
    self.completedAt = completedAt
  }
}
