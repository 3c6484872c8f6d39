import Endpoints
import JobModel

/// The chunks of a session that are still to be sent, and those that are on their way.
struct ChunkQueue {
  private var waiting: ArraySlice<UploadChunk>
  private var onTheirWay: Set<Int> = []

  /// - Parameter missing: in the order in which they are to be sent.
  init(_ missing: [UploadChunk]) { waiting = missing[...] }

  /// The chunk that is sent next; nil where all are on their way.
  var first: UploadChunk? { waiting.first }

  mutating func takeFirst() -> UploadChunk? {
    guard let chunk = waiting.popFirst() else { return nil }
    onTheirWay.insert(chunk.index)
    return chunk
  }

  /// The chunk needs no more requests.
  mutating func end(_ index: Int) { onTheirWay.remove(index) }

  /// Those on their way, then so many that are sent next.
  func coming(_ count: Int) -> [Int] { onTheirWay.sorted() + waiting.prefix(count).map(\.index) }
}
