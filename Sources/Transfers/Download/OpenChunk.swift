import Digests

/// A chunk that is being received.
struct OpenChunk {
  let offset: Int64
  var sum = CRC32C()

  init(offset: Int64) { self.offset = offset }

  var digest: String { Hex.encode(sum.bytes) }
}
