/// A digest or checksum that can be computed while bytes pass; the raw value is its name in manifests.
package enum DigestKind: String, CaseIterable, Hashable, Sendable {
  case sha256
  case sha512
  case sha1
  case md5
  case crc32
  case crc32c
  case crc64nvme

  /// The length of a finished digest, in bytes.
  package var byteCount: Int {
    switch self {
    case .sha256: 32
    case .sha512: 64
    case .sha1: 20
    case .md5: 16
    case .crc32, .crc32c: 4
    case .crc64nvme: 8
    }
  }
}
