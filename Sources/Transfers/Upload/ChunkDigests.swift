import Digests
import JobModel
import LocalFiles

/// Digests of one chunk of a source, in one reading.
enum ChunkDigests {
  static func of(_ bytes: [UInt8], _ algorithms: [DigestAlgorithm]) throws -> [DigestAlgorithm: String] {
    let digests = try DigestSet(Set(algorithms.map(\.kind)))
    bytes.withUnsafeBytes { digests.update($0) }
    return DigestAlgorithm.named(digests.finish())
  }

  /// - Throws: `SOURCE_CHANGED` where the file ends before the range does.
  static func of(
    _ range: Range<Int64>, of file: OpenFile, _ algorithms: some Sequence<DigestAlgorithm>
  ) throws -> [DigestAlgorithm: String] {
    let digests = try DigestSet(Set(algorithms.map(\.kind)))
    let count = try file.scan(range) { bytes in
      digests.update(bytes)
      return true
    }
    guard count == Int64(range.count) else {
      throw Failure(.sourceChanged, "`\(file.path)` changed while it was sent: it ends early")
    }
    return DigestAlgorithm.named(digests.finish())
  }
}
