import Digests
package import JobModel

/// Digests that an answer's headers offer, as lower-case hex.
///
/// Repr-Digest (RFC 9530, 3) always speaks of the whole representation; Content-Digest (RFC 9530, 2),
/// Digest (RFC 3230) and Content-MD5 (RFC 1864) count only where the answer carries it all, a 206 too. ETags never count.
/// `x-goog-hash` speaks of all that Google Cloud Storage keeps (cloud.google.com/storage/docs/xml-api/reference-headers).
package enum DigestHeaders {
  package static func wholeFile(_ head: ResponseHead) -> [DigestAlgorithm: String] {
    var digests: [DigestAlgorithm: String] = [:]
    func take(_ name: String, wrapped: Bool) {
      guard let field = head.headers.combined(name) else { return }
      digests.merge(read(field, wrapped: wrapped)) { _, new in new }
    }
    if head.spansWhole {
      if let text = head.headers["Content-MD5"], let bytes = Base64.decode(text), bytes.count == 16 {
        digests[.md5] = Hex.encode(bytes)
      }
      // RFC 3230 speaks of the instance, but servers disagree on parts: trusted for whole answers only.
      take("Digest", wrapped: false)
      take("Content-Digest", wrapped: true)
    }
    // An object that is kept compressed is sent decompressed.
    if head.headers["x-goog-stored-content-encoding"]?.lowercased() == "identity" {
      take("x-goog-hash", wrapped: false)
    }
    take("Repr-Digest", wrapped: true)
    return digests
  }

  /// What an answer says of the bytes that it carries itself, of a part too, by an algorithm that proves something.
  package static func content(_ head: ResponseHead) -> RangeDigest? {
    let told = read(head.headers.combined("Content-Digest"), wrapped: true)
    for algorithm in [DigestAlgorithm.sha256, .sha512] {
      if let digest = told[algorithm] { return RangeDigest(algorithm, digest) }
    }
    return nil
  }

  /// The request header that asks for it (RFC 9530, 4).
  package static let wantContent = (name: "Want-Content-Digest", value: "sha-256=10")

  /// - Parameter wrapped: the values are structured fields' byte sequences, between colons.
  private static func read(_ field: String?, wrapped: Bool) -> [DigestAlgorithm: String] {
    var digests: [DigestAlgorithm: String] = [:]
    // By bytes: one comes with each small file.
    for item in (field ?? "").utf8.split(separator: UInt8(ascii: ",")) {
      let pair = item.split(separator: UInt8(ascii: "="), maxSplits: 1)
      guard pair.count == 2 else { continue }
      var text = pair[1].prefix { $0 != UInt8(ascii: ";") }.filter { $0 != UInt8(ascii: " ") }[...]
      if wrapped {
        guard text.count > 2, text.first == UInt8(ascii: ":"), text.last == UInt8(ascii: ":") else {
          continue
        }
        text = text.dropFirst().dropLast()
      }
      let name = String(decoding: pair[0].filter { $0 != UInt8(ascii: " ") }, as: UTF8.self).lowercased()
      guard let algorithm = algorithm(name), let bytes = Base64.decode(text),
        bytes.count * 2 == algorithm.hexLength
      else { continue }
      digests[algorithm] = Hex.encode(bytes)
    }
    return digests
  }

  private static func algorithm(_ name: String) -> DigestAlgorithm? {
    switch name {
    case "sha-256": .sha256
    case "sha-512": .sha512
    case "sha", "sha-1": .sha1
    case "md5": .md5
    case "crc32c": .crc32c
    default: nil
    }
  }
}
