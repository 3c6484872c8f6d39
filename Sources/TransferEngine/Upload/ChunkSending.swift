import Endpoints
import JobModel

/// What is left to send of one chunk, and what its tries have come to.
struct ChunkSending {
  /// How often a URL that the server handed out may be refused before that counts.
  private static let mostRefusals = 2

  private(set) var chunk: UploadChunk
  /// Bytes of an earlier request for this place may still be on their way.
  private(set) var mayHoldMore: Bool
  /// Body bytes that the last try wrote to the network.
  var sent: Int64 = 0
  /// The URL of the last try, where the server had handed it out.
  var ticket: WebURL?
  /// The server took other bytes than were sent.
  private(set) var damage: Failure?
  private var refusals = 0
  private var takenAtRefusal: Int
  private var forgiven = 0

  /// - Parameter taken: chunks that the server has taken by now.
  init(_ chunk: UploadChunk, mayHoldMore: Bool, taken: Int) {
    self.chunk = chunk
    self.mayHoldMore = mayHoldMore
    takenAtRefusal = taken
  }

  /// The server has the chunk up to there.
  mutating func advance(to end: Int64) { chunk.range = end..<chunk.range.upperBound }

  mutating func note(_ failure: Failure) {
    if failure.code == .integrityMismatch { damage = failure }
    mayHoldMore = mayHoldMore || failure.code != .chunkConflict
  }

  /// Whether a refused URL is to be asked for anew, once more.
  ///
  /// - Parameter taken: a server that has taken other chunks meanwhile most likely refuses a URL that has expired.
  mutating func asksForTicket(after failure: Failure, taken: Int, attempts: Int) -> Bool {
    guard ticket != nil, failure.class == .denied || failure.class == .credentialExpired else { return false }
    if taken > takenAtRefusal, forgiven < attempts {
      refusals = 0
      forgiven += 1
    }
    takenAtRefusal = taken
    guard refusals < Self.mostRefusals else { return false }
    refusals += 1
    return true
  }

  /// The URL may expire while a retry is waited for.
  mutating func forgetRefusals() { refusals = 0 }

  /// What the failure of the last try means for the session.
  func outcome(_ failure: Failure) -> Failure {
    // A store that broke off over damaged bytes is not asked to replace them for ever.
    guard let damage, failure.class != .sessionGone, failure.code == .networkUnreachable else {
      return failure
    }
    return damage.classed(.sessionGone)
  }
}
