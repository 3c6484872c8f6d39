/// How a file of a known size is cut into chunks: all of one length, the last one shorter.
package struct ChunkLayout: Sendable, Hashable {
  /// Bytes.
  package let size: Int64
  /// Bytes, at least 1.
  package let chunkSize: Int64

  package init(size: Int64, chunkSize: Int64) {
    self.size = max(0, size)
    self.chunkSize = max(1, chunkSize)
  }

  package var count: Int { size == 0 ? 0 : Int((size - 1) / chunkSize + 1) }

  package func range(_ index: Int) -> Range<Int64> {
    let start = Int64(index) * chunkSize
    return start..<(start + min(chunkSize, size - start))
  }

  /// The largest chunk, in bytes: more would only overflow sums.
  package static let largestChunk: Int64 = 1 << 50

  /// The chunk size to use for `auto`: 8 MiB up to 8 GiB, then such that about 1,000 chunks cover the file.
  package static func automatic(size: Int64?) -> Int64 {
    let mebibyte: Int64 = 1 << 20
    guard let size else { return 8 * mebibyte }
    let wanted = size / 1000
    return min(64 * mebibyte, max(8 * mebibyte, (wanted + mebibyte - 1) / mebibyte * mebibyte))
  }
}
