import Endpoints
import JobModel

/// What is left to send of one chunk, and what its tries have come to.
struct ChunkSending {
  private(set) var chunk: UploadChunk
  /// Bytes of an earlier request for this place may still be on their way.
  private(set) var mayHoldMore: Bool
  /// Body bytes that the last try wrote to the network.
  var sent: Int64 = 0
  /// The server took other bytes than were sent.
  private(set) var damage: Failure?

  init(_ chunk: UploadChunk, mayHoldMore: Bool) {
    self.chunk = chunk
    self.mayHoldMore = mayHoldMore
  }

  /// The server has the chunk up to there.
  mutating func advance(to end: Int64) { chunk.range = end..<chunk.range.upperBound }

  mutating func note(_ failure: Failure) {
    if failure.code == .integrityMismatch { damage = failure }
    mayHoldMore = mayHoldMore || failure.code != .chunkConflict
  }

  /// What the failure of the last try means for the session.
  func outcome(_ failure: Failure) -> Failure {
    // A store that broke off over damaged bytes is not asked to replace them for ever.
    guard let damage, failure.class != .sessionGone, failure.code == .networkUnreachable else {
      return failure
    }
    return damage.classed(.sessionGone)
  }
}
