import Endpoints

/// Chunks that an upload's temporary file holds: acknowledged by the server in this process, or read back.
///
/// A server that breaks down may not have kept what it acknowledged, and a file with a hole has its size all the same: what is
/// older than the last handle that was lost is in doubt until it is read back.
struct AcknowledgedChunks {
  private(set) var chunks: [Int: HeldChunk] = [:]
  /// The handles that had been lost when a chunk came to be there.
  private var ages: [Int: Int] = [:]
  /// Handles that were lost.
  private(set) var age = 0

  /// - Parameter age: as it was before the chunk's first byte was sent; nil where it was read now.
  mutating func keep(_ index: Int, _ chunk: HeldChunk, age: Int? = nil) {
    (chunks[index], ages[index]) = (chunk, age ?? self.age)
  }

  mutating func drop(_ index: Int) { (chunks[index], ages[index]) = (nil, nil) }

  mutating func loseHandle() { age += 1 }

  var certain: [Int: HeldChunk] { chunks.filter { ages[$0.key] == age } }
  var isInDoubt: Bool { ages.values.contains { $0 != age } }

  /// Takes in what was read of all that was in doubt.
  ///
  /// - Returns: how many chunks are not there as they were acknowledged.
  mutating func settle(_ seen: [Int: HeldChunk]) -> Int {
    var lost = 0
    for (index, chunk) in chunks where ages[index] != age {
      if seen[index]?.receipt != chunk.receipt { lost += 1 }
      if let found = seen[index] { keep(index, found) } else { drop(index) }
    }
    return lost
  }
}
