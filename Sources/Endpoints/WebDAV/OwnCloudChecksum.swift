import JobModel

/// Checksums of whole files as ownCloud and Nextcloud write them, `SHA1:… MD5:… ADLER32:…`
/// (doc.owncloud.com, "Checksums"; the property `{http://owncloud.org/ns}checksums` and the header OC-Checksum).
///
/// haul sends none: Nextcloud keeps what it is sent unread, and its word would be an echo.
enum OwnCloudChecksum {
  static func read(_ text: String) -> [DigestAlgorithm: String] {
    var digests: [DigestAlgorithm: String] = [:]
    for pair in text.utf8.split(whereSeparator: { $0 == UInt8(ascii: " ") || $0 == UInt8(ascii: ",") }) {
      let pieces = pair.split(separator: UInt8(ascii: ":"), maxSplits: 1)
      guard pieces.count == 2, let algorithm = algorithm(String(decoding: pieces[0], as: UTF8.self)) else {
        continue
      }
      let hex = String(decoding: pieces[1], as: UTF8.self).lowercased()
      guard hex.utf8.count == algorithm.hexLength, hex.utf8.allSatisfy({ $0.isLowerHexDigit }) else {
        continue
      }
      digests[algorithm] = hex
    }
    return digests
  }

  /// It is of the whole file, also where the answer carries a part.
  static func add(_ head: ResponseHead, to object: RemoteObject) -> RemoteObject {
    guard let text = head.headers["OC-Checksum"] else { return object }
    var object = object
    object.digests.merge(read(text)) { own, _ in own }
    return object
  }

  private static func algorithm(_ name: String) -> DigestAlgorithm? {
    switch name.uppercased() {
    case "SHA1": .sha1
    case "MD5": .md5
    case "SHA256": .sha256
    case "SHA512": .sha512
    default: nil
    }
  }
}
