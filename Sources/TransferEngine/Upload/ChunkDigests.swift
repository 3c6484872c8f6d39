import Digests
import JobModel
import LocalFiles

/// Digests of one chunk of a source, in one reading.
enum ChunkDigests {
  static func of(_ bytes: [UInt8], _ algorithms: [DigestAlgorithm]) throws -> [DigestAlgorithm: String] {
    var found: [DigestAlgorithm: String] = [:]
    for algorithm in algorithms { found[algorithm] = try Digest.hex(of: bytes, algorithm.kind) }
    return found
  }

  /// - Throws: `SOURCE_CHANGED` where the file ends before the range does.
  static func of(
    _ range: Range<Int64>, of file: OpenFile, _ algorithms: some Sequence<DigestAlgorithm>
  ) throws -> [DigestAlgorithm: String] {
    let digests = try algorithms.map { ($0, try StreamingDigest($0.kind)) }
    let count = try file.scan(range) { bytes in
      for (_, digest) in digests { digest.update(bytes) }
      return true
    }
    guard count == Int64(range.count) else {
      throw Failure(.sourceChanged, "`\(file.path)` changed while it was sent: it ends early")
    }
    return Dictionary(uniqueKeysWithValues: digests.map { ($0, $1.finishHex()) })
  }
}
