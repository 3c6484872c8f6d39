/// Several digests of the same bytes, computed together. One thread at a time may use it, hence sendable.
package final class DigestSet: @unchecked Sendable {
  private let digests: [StreamingDigest]

  /// - Throws: `DigestError.unavailable` where the system's OpenSSL forbids an algorithm.
  package init(_ kinds: Set<DigestKind>) throws(DigestError) {
    var digests: [StreamingDigest] = []
    for kind in kinds { digests.append(try StreamingDigest(kind)) }
    self.digests = digests
  }

  package func update(_ bytes: UnsafeRawBufferPointer) {
    for digest in digests { digest.update(bytes) }
  }

  /// All digests in lower-case hexadecimal.
  package func finish() -> [DigestKind: String] {
    var found: [DigestKind: String] = [:]
    for digest in digests { found[digest.kind] = digest.finishHex() }
    return found
  }
}
