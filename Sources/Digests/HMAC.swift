/// HMAC-SHA-256 (RFC 2104): keyed digests of short messages.
package enum HMAC {
  /// - Throws: `DigestError.unavailable` where the system's OpenSSL forbids SHA-256.
  package static func sha256(_ message: [UInt8], key: [UInt8]) throws(DigestError) -> [UInt8] {
    let block = 64
    var padded = key.count > block ? try Digest.bytes(of: key, .sha256) : key
    padded += [UInt8](repeating: 0, count: block - padded.count)
    let inner = try Digest.bytes(of: padded.map { $0 ^ 0x36 } + message, .sha256)
    return try Digest.bytes(of: padded.map { $0 ^ 0x5C } + inner, .sha256)
  }
}
