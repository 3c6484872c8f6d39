import Digests
import JobModel

/// S3's additional checksums: base64 of big-endian bytes in `x-amz-checksum-…`
/// (docs.aws.amazon.com/AmazonS3/latest/userguide/checking-object-integrity.html).
enum S3Checksums {
  private static let names: [(DigestAlgorithm, header: String, element: String)] = [
    (.crc64nvme, "x-amz-checksum-crc64nvme", "ChecksumCRC64NVME"),
    (.sha256, "x-amz-checksum-sha256", "ChecksumSHA256"),
    (.sha512, "x-amz-checksum-sha512", "ChecksumSHA512"),
    (.sha1, "x-amz-checksum-sha1", "ChecksumSHA1"),
    (.md5, "x-amz-checksum-md5", "ChecksumMD5"),
    (.crc32c, "x-amz-checksum-crc32c", "ChecksumCRC32C"),
    // What boto3 and other kits of AWS's send by default since 2025.
    (.crc32, "x-amz-checksum-crc32", "ChecksumCRC32"),
  ]

  static func header(_ algorithm: DigestAlgorithm) -> String {
    names.first { $0.0 == algorithm }?.header ?? "x-amz-checksum-\(algorithm.rawValue)"
  }

  /// Base64 for a header or element; nil where the text is no hex.
  static func base64(_ hex: String) -> String? { Hex.decode(hex).map(Base64.encode) }

  /// Checksums of what an answer's headers speak of, as lower-case hex.
  static func read(_ headers: HeaderList) -> [DigestAlgorithm: String] {
    guard !isComposite(headers["x-amz-checksum-type"]) else { return [:] }
    return collect { headers[$0.header] }
  }

  /// The same out of an element's children.
  static func read(_ element: XMLTree.Element) -> [DigestAlgorithm: String] {
    guard !isComposite(element["ChecksumType"]) else { return [:] }
    return collect { element[$0.element] }
  }

  /// The digest of the parts' digests, as `BASE64-COUNT` or without the count; lower-case hex.
  static func composite(_ text: String?) -> String? {
    guard let bare = text?.split(separator: "-").first, let bytes = Base64.decode(String(bare)),
      bytes.count == 32
    else { return nil }
    return Hex.encode(bytes)
  }

  static func isComposite(_ type: String?) -> Bool { type?.uppercased() == "COMPOSITE" }

  private static func collect(
    _ value: ((DigestAlgorithm, header: String, element: String)) -> String?
  ) -> [DigestAlgorithm: String] {
    var found: [DigestAlgorithm: String] = [:]
    for name in names {
      // A count behind a dash marks a digest of digests, whatever the type says.
      guard let text = value(name), !text.contains("-"), let bytes = Base64.decode(text),
        bytes.count * 2 == name.0.hexLength
      else { continue }
      found[name.0] = Hex.encode(bytes)
    }
    return found
  }
}
