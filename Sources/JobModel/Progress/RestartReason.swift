/// Why what was moved of a transfer is of no more use; `keeps` is the one table of what outlives each reason.
package enum RestartReason: Sendable, Hashable, CaseIterable {
  /// The remote object, or the local source, is another one now.
  case contentChanged
  /// The server serves no ranges, or an answer broke off that can't be resumed.
  case streamBroke
  /// Bytes arrived damaged, and nothing tells which.
  case damaged
  /// The upload session is gone, or can't be completed.
  case sessionGone
  /// What was recorded as complete is not there as it was, or is not wanted any more.
  case completionGone
  /// It failed for good, or was cancelled.
  case givenUp
  /// What was received is not on the disk: it was never written, or the part file is gone.
  case partGone
  /// The user wants it from nothing (`retry --from-scratch`).
  case asked

  /// What is recorded besides chunks, and may be of use whatever became of them.
  package struct Kept: OptionSet, Sendable, Hashable {
    package let rawValue: Int
    package init(rawValue: Int) { self.rawValue = rawValue }
    /// The chunk size that an earlier damage has led to, and the one that was chosen.
    package static let chunkSize = Kept(rawValue: 1)
    /// The file that was about to take the destination's name.
    package static let intent = Kept(rawValue: 2)
    /// The completion: digests, checks, what the remote object was, and the request that ties the file to its record: a new
    /// file is tied anew, under a key of its own.
    package static let completion = Kept(rawValue: 4)
    /// Why the last attempt failed.
    package static let failure = Kept(rawValue: 8)
    /// What this run has moved may be of use yet.
    package static let moved = Kept(rawValue: 16)
  }

  package var keeps: Kept {
    switch self {
    case .contentChanged, .streamBroke, .damaged, .sessionGone, .partGone:
      [.chunkSize, .intent, .completion, .failure]
    case .completionGone: [.chunkSize, .failure, .moved]
    case .givenUp: [.chunkSize, .completion, .failure]
    case .asked: []
    }
  }
}
