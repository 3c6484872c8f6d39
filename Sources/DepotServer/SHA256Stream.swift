import COpenSSL

/// SHA-256 over bytes that arrive in pieces (OpenSSL's EVP).
///
/// Not locked: whoever holds it gives it to one task at a time, which is what makes `Sendable` true.
final class SHA256Stream: @unchecked Sendable {
  private let context: OpaquePointer?

  init() {
    context = EVP_MD_CTX_new()
    EVP_DigestInit_ex(context, EVP_sha256(), nil)
  }

  deinit {
    EVP_MD_CTX_free(context)
  }

  func update(_ bytes: UnsafeRawBufferPointer) {
    EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
  }

  /// The 32 bytes; nothing can be added afterwards.
  func finish() -> [UInt8] {
    var digest = [UInt8](repeating: 0, count: 32)
    EVP_DigestFinal_ex(context, &digest, nil)
    return digest
  }
}
