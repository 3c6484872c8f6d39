/// A fast hint that content is what it was, never proof: imohash's layout, MurmurHash3 over three samples.
package struct Fingerprint: Hashable, Sendable, CustomStringConvertible {
  /// Sixteen bytes; the size as a varint stands over the first of them.
  package let bytes: [UInt8]

  /// Bytes of one sample.
  package static let sampleSize = 16 * 1024
  /// Content shorter than this, in bytes, is read whole.
  package static let sampledFrom: Int64 = 128 * 1024

  /// Reads the samples and hashes them.
  /// - Parameters:
  ///   - prefix: bytes hashed before the samples (a transfer's id).
  ///   - read: gives `count` bytes at `offset`, all of them.
  /// - Throws: what `read` throws, or `ShortRead` where the content is shorter than `size`.
  package init(
    size: Int64, prefix: [UInt8] = [], read: (_ offset: Int64, _ count: Int) throws -> [UInt8]
  ) throws {
    var input = prefix
    for (offset, count) in Self.samples(size) where count > 0 {
      let sample = try read(offset, count)
      guard sample.count == count else {
        throw ShortRead(offset: offset, wanted: count, got: sample.count)
      }
      input += sample
    }
    var hash = Murmur3.hash(input)
    let length = Self.varint(UInt64(size))
    hash.replaceSubrange(0..<length.count, with: length)
    bytes = hash
  }

  /// Thirty-two lower-case hexadecimal digits.
  package var description: String { Hex.encode(bytes) }

  private static func samples(_ size: Int64) -> [(offset: Int64, count: Int)] {
    guard size >= sampledFrom else { return [(0, Int(size))] }
    return [0, size / 2, size - Int64(sampleSize)].map { ($0, sampleSize) }
  }

  /// LEB128; at most nine bytes, as a size has 63 bits.
  private static func varint(_ value: UInt64) -> [UInt8] {
    var rest = value
    var bytes: [UInt8] = []
    while rest >= 0x80 {
      bytes.append(UInt8(rest & 0x7f) | 0x80)
      rest >>= 7
    }
    return bytes + [UInt8(rest)]
  }
}
