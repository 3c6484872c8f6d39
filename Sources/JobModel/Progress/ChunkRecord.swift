/// A chunk whose bytes are written (download) or acknowledged (upload).
package struct ChunkRecord: Sendable, Hashable {
  package var offset: Int64
  /// Bytes.
  package var length: Int64
  /// CRC-32C of a download's bytes, SHA-256 (hex) of an upload's.
  package var digest: String
  /// What the server gave for it, an ETag for instance.
  package var receipt: String?
  package var attempts: Int

  package init(offset: Int64, length: Int64, digest: String, receipt: String? = nil, attempts: Int = 1) {
    self.offset = offset
    self.length = length
    self.digest = digest
    self.receipt = receipt
    self.attempts = attempts
  }

  package var range: Range<Int64> { offset..<(offset + length) }
}
