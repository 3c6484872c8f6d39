/// A digest computed piece by piece. Not safe to share between threads; hand it over, or `copy()` it.
package final class StreamingDigest {
  package let kind: DigestKind
  private var state: State

  private enum State {
    case message(MessageDigest)
    case crc32(CRC32)
    case crc32c(CRC32C)
    case crc64nvme(CRC64NVME)
    case finished([UInt8])
  }

  /// - Throws: `DigestError.unavailable` where the system's OpenSSL forbids the algorithm.
  package init(_ kind: DigestKind) throws(DigestError) {
    self.kind = kind
    switch kind {
    case .sha256, .sha512, .sha1, .md5: state = .message(try MessageDigest(kind))
    case .crc32: state = .crc32(CRC32())
    case .crc32c: state = .crc32c(CRC32C())
    case .crc64nvme: state = .crc64nvme(CRC64NVME())
    }
  }

  private init(_ kind: DigestKind, _ state: State) {
    self.kind = kind
    self.state = state
  }

  /// Adds bytes. Adding after `finish()` is a programming error and traps.
  package func update(_ bytes: UnsafeRawBufferPointer) {
    switch state {
    case .message(let message):
      message.update(bytes)
    case .crc32(var crc):
      crc.update(bytes)
      state = .crc32(crc)
    case .crc32c(var crc):
      crc.update(bytes)
      state = .crc32c(crc)
    case .crc64nvme(var crc):
      crc.update(bytes)
      state = .crc64nvme(crc)
    case .finished:
      preconditionFailure("a finished \(kind.rawValue) digest takes no more bytes")
    }
  }

  package func update(_ bytes: [UInt8]) {
    bytes.withUnsafeBytes { update($0) }
  }

  /// The digest's bytes, checksums big-endian; asking again gives the same.
  package func finish() -> [UInt8] {
    let digest: [UInt8]
    switch state {
    case .message(let message): digest = message.finish()
    case .crc32(let crc): digest = crc.bytes
    case .crc32c(let crc): digest = crc.bytes
    case .crc64nvme(let crc): digest = crc.bytes
    case .finished(let known): digest = known
    }
    state = .finished(digest)
    return digest
  }

  /// `finish()` in lower-case hexadecimal.
  package func finishHex() -> String { Hex.encode(finish()) }

  /// A second digest that has seen the same bytes and goes its own way from here.
  package func copy() throws(DigestError) -> StreamingDigest {
    switch state {
    case .message(let message): StreamingDigest(kind, .message(try message.copy()))
    case .crc32, .crc32c, .crc64nvme, .finished: StreamingDigest(kind, state)
    }
  }
}
