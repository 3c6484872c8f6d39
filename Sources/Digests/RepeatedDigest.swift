/// Digests of many short texts, one after another: what one takes to set up costs more than such a digest.
package final class RepeatedDigest {
  private let message: MessageDigest

  /// - Throws: `DigestError.unavailable` where the system's OpenSSL forbids the algorithm, and for checksums.
  package init(_ kind: DigestKind) throws(DigestError) {
    message = try MessageDigest(kind)
  }

  package func bytes(of content: [UInt8]) -> [UInt8] {
    content.withUnsafeBytes { message.update($0) }
    let digest = message.finish()
    message.restart()
    return digest
  }
}
