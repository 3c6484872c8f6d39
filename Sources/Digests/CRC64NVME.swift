import CChecksums

/// CRC-64/NVME, S3's CRC64NVME, in the processor's own instructions where it has them.
package struct CRC64NVME: Hashable, Sendable {
  /// The checksum of the bytes so far.
  package private(set) var value: UInt64

  /// Goes on from a value computed earlier; 0 stands for no bytes.
  package init(value: UInt64 = 0) {
    self.value = value
  }

  package mutating func update(_ bytes: UnsafeRawBufferPointer) {
    value = haul_crc64nvme(value, bytes.baseAddress, bytes.count)
  }

  package mutating func update(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { update($0) }
  }

  /// The value's bytes, big-endian, as protocols send them.
  package var bytes: [UInt8] { withUnsafeBytes(of: value.bigEndian) { Array($0) } }
}
