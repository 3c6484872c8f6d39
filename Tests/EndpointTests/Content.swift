import Digests
import Endpoints
import JobModel
import TestSupport

/// What is stored or sent, and what is expected to come back.
struct Content: Sendable {
  let bytes: [UInt8]

  init(bytes: [UInt8]) { self.bytes = bytes }

  init(_ count: Int64, seed: UInt64) { bytes = Array(SeededFile.bytes(Int(count), seed: seed)) }

  var size: Int64 { Int64(bytes.count) }
  var sha256: String { digest(.sha256) }

  func digest(_ algorithm: DigestAlgorithm, of range: Range<Int64>? = nil) -> String {
    let range = range ?? 0..<size
    let kind = DigestKind(rawValue: algorithm.rawValue) ?? .sha256
    return (try? Digest.hex(of: Array(bytes[Int(range.lowerBound)..<Int(range.upperBound)]), kind)) ?? "none"
  }

  func chunk(_ index: Int, _ range: Range<Int64>, _ algorithms: [DigestAlgorithm]) -> UploadChunk {
    let digests = algorithms.map { ($0, digest($0, of: range)) }
    return UploadChunk(index: index, range: range, digests: Dictionary(uniqueKeysWithValues: digests))
  }

  /// The file as requests speak of it.
  func source(chunkSize: Int64) -> UploadSource {
    let digests = [DigestAlgorithm.sha256, .crc64nvme, .md5].map { ($0, digest($0)) }
    return UploadSource(
      size: size, contentType: "application/octet-stream", chunkSize: chunkSize,
      digests: Dictionary(uniqueKeysWithValues: digests), fingerprint: digest(.md5),
      contentName: digest(.md5))
  }
}

/// A range of a content as a request's body.
///
/// Used on the network thread alone, hence sendable to it.
final class ContentReader: ByteReader, @unchecked Sendable {
  private let bytes: [UInt8]
  private var position = 0

  /// - Parameter isDamaged: one bit of it goes out wrong.
  init(_ content: Content, _ range: Range<Int64>, isDamaged: Bool = false) {
    var bytes = Array(content.bytes[Int(range.lowerBound)..<Int(range.upperBound)])
    if isDamaged { bytes[bytes.count / 2] ^= 1 }
    self.bytes = bytes
  }

  var length: Int64 { Int64(bytes.count) }
  var mayBeRepeated: Bool { true }
  func rewind() { position = 0 }
  func settle(sent: Int64) {}

  func read(into buffer: UnsafeMutableRawBufferPointer) -> Int {
    let count = min(buffer.count, bytes.count - position)
    bytes.withUnsafeBytes { buffer.copyMemory(from: .init(rebasing: $0[position..<position + count])) }
    position += count
    return count
  }
}
