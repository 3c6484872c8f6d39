import Digests
import JobModel

/// A chunk that is being received: its checksum so far, and its frontier, up to which it is on record.
struct OpenChunk: Equatable {
  let offset: Int64
  /// Up to here its bytes are on record.
  private(set) var frontier: Int64
  /// Up to here its bytes are written.
  private(set) var end: Int64
  private var sum = CRC32C()

  init(offset: Int64) {
    self.offset = offset
    frontier = offset
    end = offset
  }

  mutating func wrote(_ bytes: UnsafeRawBufferPointer) {
    sum.update(bytes)
    end += Int64(bytes.count)
  }

  /// What is to be recorded of it now: all that is written.
  mutating func advance() -> ChunkRecord {
    frontier = end
    return ChunkRecord(offset: offset, length: end - offset, digest: Hex.encode(sum.bytes))
  }
}
