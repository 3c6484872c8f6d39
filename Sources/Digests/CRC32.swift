import CChecksums

/// CRC-32 as zlib and gzip have it (RFC 1952, 8); S3's `x-amz-checksum-crc32`.
package struct CRC32: Hashable, Sendable {
  /// The checksum of the bytes so far.
  package private(set) var value: UInt32

  /// Goes on from a value computed earlier; 0 stands for no bytes.
  package init(value: UInt32 = 0) {
    self.value = value
  }

  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    value = haul_crc32(value, bytes.baseAddress, bytes.count)
  }

  package mutating func update(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { update($0) }
  }

  /// The value's bytes, big-endian, as protocols send them.
  package var bytes: [UInt8] { withUnsafeBytes(of: value.bigEndian) { Array($0) } }
}
