package import JobModel

/// Whole-file digests that an answer's headers offer, as lower-case hex.
///
/// Repr-Digest (RFC 9530, 3) always speaks of the whole representation; Content-Digest (RFC 9530, 2),
/// Digest (RFC 3230) and Content-MD5 (RFC 1864) count only where the answer carries it all. ETags never count.
package enum DigestHeaders {
  package static func wholeFile(_ head: AnswerHead) -> [DigestAlgorithm: String] {
    var digests: [DigestAlgorithm: String] = [:]
    func take(_ value: String?, named: (String) -> DigestAlgorithm?, wrapped: Bool) {
      guard let value else { return }
      for item in value.split(separator: ",") {
        let pair = item.split(separator: "=", maxSplits: 1)
        guard pair.count == 2 else { continue }
        let name = pair[0].filter { $0 != " " }.lowercased()
        var text = pair[1].split(separator: ";").first.map(String.init) ?? ""
        text = text.filter { $0 != " " }
        if wrapped {
          guard text.hasPrefix(":"), text.hasSuffix(":"), text.count > 2 else { continue }
          text = String(text.dropFirst().dropLast())
        }
        guard let algorithm = named(name), let bytes = Base64.decode(text),
          bytes.count * 2 == algorithm.hexLength
        else { continue }
        digests[algorithm] = Base64.hex(bytes)
      }
    }
    if head.status == 200 {
      if let text = head.headers["Content-MD5"], let bytes = Base64.decode(text), bytes.count == 16 {
        digests[.md5] = Base64.hex(bytes)
      }
      // RFC 3230 speaks of the instance, but servers disagree on ranges: trusted for whole answers only.
      take(head.headers.combined("Digest"), named: algorithm, wrapped: false)
      take(head.headers.combined("Content-Digest"), named: algorithm, wrapped: true)
    }
    take(head.headers.combined("Repr-Digest"), named: algorithm, wrapped: true)
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
