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

  /// The chunk size of `auto`, in bytes. Where the host's rate is known, a power of two that takes about two seconds on
  /// one connection, from 1 to 64 MiB; else 8 MiB up to 8 GiB, then such that about 1,000 chunks cover the file.
  ///
  /// - Parameters:
  ///   - size: the file's; nil while nobody knows it.
  ///   - rate: what the host was last measured at, in bytes per second on one connection.
  ///   - least: the least that the protocol takes.
  ///   - most: how many chunks the protocol takes.
  package static func automatic(
    size: Int64?, rate: Double? = nil, least: Int64 = 1, most: Int? = nil
  ) -> Int64 {
    let mebibyte: Int64 = 1 << 20
    guard let rate, rate > 0, least <= Self.largestChunk else {
      let wanted = (size ?? 0) / 1000
      return min(64 * mebibyte, max(8 * mebibyte, (wanted + mebibyte - 1) / mebibyte * mebibyte))
    }
    // Records of more chunks would weigh more than what is lost with a larger one.
    let fewer = min(64 * mebibyte, chunkSize(of: size, count: 10_000))
    let least = max(least, fewer, most.map { chunkSize(of: size, count: max(1, $0)) } ?? 1)
    var chunk = mebibyte
    while chunk < 64 * mebibyte, Double(chunk) < rate * 2.0.squareRoot() { chunk *= 2 }
    while chunk < least, chunk < Self.largestChunk { chunk *= 2 }
    return chunk
  }

  /// The least chunk size with which so many chunks cover the file.
  private static func chunkSize(of size: Int64?, count: Int) -> Int64 {
    guard let size, size > 0 else { return 1 }
    return (size - 1) / Int64(count) + 1
  }
}
