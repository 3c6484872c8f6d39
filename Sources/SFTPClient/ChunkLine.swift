/// Lets the chunks of one file be written one after the other, in the order of the file: a chunk waits for those before it that
/// are on their way and not written yet.
///
/// Belongs to one transfer's actor.
final class ChunkLine {
  private var isTaken = false
  private var waiting: [(index: Int, goOn: CheckedContinuation<Void, Never>)] = []
  /// Written, as far as this side can tell.
  private var written: Set<Int> = []
  /// Those that are in line, or are written now.
  private var present: Set<Int> = []
  /// One before may have ended in another way than here.
  private static let look = Duration.milliseconds(20)

  /// - Parameter underWay: the chunks that are on their way, by index.
  nonisolated(nonsending) func take(_ index: Int, underWay: () -> [Int]) async throws {
    written.remove(index)
    while underWay().contains(where: { $0 < index && !written.contains($0) && !present.contains($0) }) {
      try await Task.sleep(for: Self.look)
    }
    present.insert(index)
    guard isTaken else {
      isTaken = true
      return
    }
    await withCheckedContinuation { waiting.append((index, $0)) }
  }

  /// - Parameter isWritten: all of it is on its way to the server.
  func leave(_ index: Int, isWritten: Bool) {
    present.remove(index)
    if isWritten { written.insert(index) }
    guard let next = waiting.indices.min(by: { waiting[$0].index < waiting[$1].index }) else {
      isTaken = false
      return
    }
    waiting.remove(at: next).goOn.resume()
  }

  /// What was written of it did not arrive.
  func forget(_ index: Int) { written.remove(index) }
}
