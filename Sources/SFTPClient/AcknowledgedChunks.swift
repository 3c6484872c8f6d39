import Endpoints
import JobModel

/// Chunks that an upload's temporary file holds: acknowledged by the server in this process, or read back.
///
/// A server that breaks down may not have kept what it acknowledged, and a file with a hole has its size all the same: what is
/// older than the last handle that was lost is in doubt until it is read back. What the server has brought to its disk is not.
struct AcknowledgedChunks {
  private(set) var chunks: [Int: HeldChunk] = [:]
  /// The handles that had been lost when a chunk came to be there.
  private var ages: [Int: Int] = [:]
  /// Handles that were lost.
  private(set) var age = 0
  /// No lost handle puts them in doubt.
  private(set) var proved: Set<Int> = []
  /// Were acknowledged, and are not there as they were sent, until they are sent again.
  private(set) var refuted: Set<Int> = []

  /// - Parameter age: as it was before the chunk's first byte was sent; nil where it was read now.
  mutating func keep(_ index: Int, _ chunk: HeldChunk, age: Int? = nil) {
    (chunks[index], ages[index]) = (chunk, age ?? self.age)
    refuted.remove(index)
  }

  mutating func drop(_ index: Int) {
    (chunks[index], ages[index]) = (nil, nil)
    proved.remove(index)
  }

  mutating func refute(_ indexes: some Sequence<Int>) {
    for index in indexes {
      drop(index)
      refuted.insert(index)
    }
  }

  mutating func loseHandle() { age += 1 }

  func isCertain(_ index: Int) -> Bool { ages[index] == age || proved.contains(index) }
  func isDoubtful(_ index: Int) -> Bool { chunks[index] != nil && !isCertain(index) }
  var doubtful: [Int] { chunks.keys.filter { !isCertain($0) } }
  /// Certain as long as the handle is there.
  var unproved: [Int] { chunks.keys.filter { isCertain($0) && !proved.contains($0) } }

  /// Whether the file that was opened can't be the one that these chunks are of.
  ///
  /// - Parameter before: what that one was before it was read back; nil where it has been written to since.
  func isOther(_ now: SFTPAttributes, than before: SFTPAttributes?, _ layout: ChunkLayout) -> Bool {
    if let before, before.modified != now.modified { return true }
    guard let size = now.bytes, let last = chunks.keys.filter({ isCertain($0) }).max() else { return false }
    return size < layout.range(last).upperBound
  }

  /// What was proved was so of another file.
  mutating func doubtAll() {
    proved = []
    loseHandle()
  }

  mutating func prove(_ indexes: some Sequence<Int>) {
    proved.formUnion(indexes.filter { chunks[$0] != nil })
  }

  /// Takes in what was read of a chunk that was in doubt.
  ///
  /// - Returns: whether it is there as it was acknowledged.
  mutating func judge(_ index: Int, _ found: HeldChunk) -> Bool {
    guard chunks[index]?.receipt == found.receipt else {
      refute([index])
      return false
    }
    keep(index, found)
    return true
  }
}
