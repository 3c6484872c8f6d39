/// Digests of bytes that are all in memory.
package enum Digest {
  package static func bytes(of content: [UInt8], _ kind: DigestKind) throws(DigestError) -> [UInt8] {
    let digest = try StreamingDigest(kind)
    digest.update(content)
    return digest.finish()
  }

  package static func bytes(
    of content: UnsafeRawBufferPointer, _ kind: DigestKind
  ) throws(DigestError) -> [UInt8] {
    let digest = try StreamingDigest(kind)
    digest.update(content)
    return digest.finish()
  }

  /// The digest in lower-case hexadecimal.
  package static func hex(of content: [UInt8], _ kind: DigestKind) throws(DigestError) -> String {
    Hex.encode(try bytes(of: content, kind))
  }
}
