/// HMAC (RFC 2104): keyed digests of short messages.
package enum HMAC {
  /// - Throws: `DigestError.unavailable` where the system's OpenSSL forbids SHA-256.
  package static func sha256(_ message: [UInt8], key: [UInt8]) throws(DigestError) -> [UInt8] {
    try make(message, key: key, .sha256)
  }

  /// For names in known_hosts files, which ssh hashes so.
  package static func sha1(_ message: [UInt8], key: [UInt8]) throws(DigestError) -> [UInt8] {
    try make(message, key: key, .sha1)
  }

  private static func make(
    _ message: [UInt8], key: [UInt8], _ kind: DigestKind
  ) throws(DigestError) -> [UInt8] {
    let block = 64
    var padded = key.count > block ? try Digest.bytes(of: key, kind) : key
    padded += [UInt8](repeating: 0, count: block - padded.count)
    let inner = try Digest.bytes(of: padded.map { $0 ^ 0x36 } + message, kind)
    return try Digest.bytes(of: padded.map { $0 ^ 0x5C } + inner, kind)
  }
}
