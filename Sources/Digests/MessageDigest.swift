import COpenSSL

/// An OpenSSL digest computation; its context is freed with it.
final class MessageDigest {
  private let context: OpaquePointer
  private let kind: DigestKind

  init(_ kind: DigestKind) throws(DigestError) {
    guard let method = Self.method(kind), let context = EVP_MD_CTX_new() else {
      throw .unavailable(kind)
    }
    guard EVP_DigestInit_ex(context, method, nil) == 1 else {
      EVP_MD_CTX_free(context)
      throw .unavailable(kind)
    }
    self.context = context
    self.kind = kind
  }

  deinit { EVP_MD_CTX_free(context) }

  func update(_ bytes: UnsafeRawBufferPointer) {
    let done = EVP_DigestUpdate(context, bytes.baseAddress, bytes.count)
    precondition(done == 1, "OpenSSL refused to go on with \(kind.rawValue)")
  }

  /// The digest of what was given; nothing may be added after it.
  func finish() -> [UInt8] {
    [UInt8](unsafeUninitializedCapacity: Int(EVP_MAX_MD_SIZE)) { buffer, count in
      var length: UInt32 = 0
      let done = EVP_DigestFinal_ex(context, buffer.baseAddress, &length)
      precondition(done == 1, "OpenSSL could not finish \(kind.rawValue)")
      count = Int(length)
    }
  }

  /// Begins anew, with nothing given.
  func restart() {
    let done = EVP_DigestInit_ex(context, nil, nil)
    precondition(done == 1, "OpenSSL could not begin again with \(kind.rawValue)")
  }

  func copy() throws(DigestError) -> MessageDigest {
    let twin = try MessageDigest(kind)
    guard EVP_MD_CTX_copy_ex(twin.context, context) == 1 else { throw .unavailable(kind) }
    return twin
  }

  // Fetched once for the process: a fetch costs more than the digest of a small file.
  nonisolated(unsafe) private static let sha256 = EVP_MD_fetch(nil, "SHA256", nil)
  nonisolated(unsafe) private static let sha512 = EVP_MD_fetch(nil, "SHA512", nil)
  nonisolated(unsafe) private static let sha1 = EVP_MD_fetch(nil, "SHA1", nil)
  nonisolated(unsafe) private static let md5 = EVP_MD_fetch(nil, "MD5", nil)

  private static func method(_ kind: DigestKind) -> OpaquePointer? {
    switch kind {
    case .sha256: sha256
    case .sha512: sha512
    case .sha1: sha1
    case .md5: md5
    case .crc32, .crc32c, .crc64nvme: nil
    }
  }
}
