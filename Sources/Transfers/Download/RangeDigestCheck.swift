import Endpoints
import JobModel

/// The digest that a response declares for its range, and the chunks not yet checked against it.
///
/// Used on the transport's executor alone, hence sendable to it.
final class RangeDigestCheck: @unchecked Sendable {
  var promise: RangeDigest?
  private var waiting: [ChunkRecord] = []

  /// Whether the chunk must wait.
  func keeps(_ chunk: ChunkRecord) -> Bool {
    guard promise != nil else { return false }
    waiting.append(chunk)
    return true
  }

  func takeAll() -> [ChunkRecord] {
    defer { waiting = [] }
    return waiting
  }
}
