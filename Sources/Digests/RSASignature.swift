import COpenSSL

/// A signature with a private RSA key: RSASSA-PKCS1-v1_5 with SHA-256 (RFC 8017, 8.2), which JWTs call RS256.
package enum RSASignature {
  package enum Fault: Error, Sendable, Hashable {
    /// The text is no private RSA key in PEM, or is one that a passphrase guards.
    case unreadableKey
    case notMade
  }

  package static func sha256(_ message: [UInt8], pem: String) throws(Fault) -> [UInt8] {
    guard let key = privateKey(pem) else { throw .unreadableKey }
    defer { EVP_PKEY_free(key) }
    guard EVP_PKEY_is_a(key, "RSA") == 1 else { throw .unreadableKey }
    guard let context = EVP_MD_CTX_new() else { throw .notMade }
    defer { EVP_MD_CTX_free(context) }
    var length = 0
    guard EVP_DigestSignInit(context, nil, EVP_sha256(), nil, key) == 1,
      EVP_DigestSign(context, nil, &length, message, message.count) == 1
    else { throw .notMade }
    var signature = [UInt8](repeating: 0, count: length)
    guard EVP_DigestSign(context, &signature, &length, message, message.count) == 1 else { throw .notMade }
    return Array(signature.prefix(length))
  }

  private static func privateKey(_ pem: String) -> OpaquePointer? {
    var text = Array(pem.utf8)
    return text.withUnsafeMutableBytes { bytes in
      defer { OPENSSL_cleanse(bytes.baseAddress, bytes.count) }
      guard let memory = BIO_new_mem_buf(bytes.baseAddress, Int32(clamping: bytes.count)) else { return nil }
      defer { BIO_free(memory) }
      // No passphrase is asked for on a terminal: the callback gives none.
      return PEM_read_bio_PrivateKey(memory, nil, { _, _, _, _ in -1 }, nil)
    }
  }
}
