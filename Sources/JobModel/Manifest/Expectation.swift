/// A digest or checksum algorithm that a manifest or a server may name; manifests name all but CRC-32 and CRC-64/NVME.
package enum DigestAlgorithm: String, Sendable, Hashable, CaseIterable {
  case sha256, sha512, sha1, md5, crc32, crc32c, crc64nvme

  /// No two contents of interest share it: it names the bytes, where a checksum only guards them.
  package var isCryptographic: Bool {
    switch self {
    case .sha256, .sha512, .sha1, .md5: true
    case .crc32, .crc32c, .crc64nvme: false
    }
  }

  /// Length of the digest in lower-case hex characters.
  package var hexLength: Int {
    switch self {
    case .sha256: 64
    case .sha512: 128
    case .sha1: 40
    case .md5: 32
    case .crc32, .crc32c: 8
    case .crc64nvme: 16
    }
  }

  // The names would be hashed and compared as texts, for each digest of a long plan.
  package static func == (one: Self, other: Self) -> Bool { one.number == other.number }
  package func hash(into hasher: inout Hasher) { hasher.combine(number) }

  private var number: UInt8 {
    switch self {
    case .md5: 0
    case .sha1: 1
    case .sha256: 2
    case .sha512: 3
    case .crc32c: 4
    case .crc64nvme: 5
    case .crc32: 6
    }
  }
}

/// What the bytes of a transfer must be (`expect`). Digests are lower-case hex.
package struct Expectation: Sendable, Hashable {
  package var digests: [DigestAlgorithm: String]
  /// Bytes.
  package var size: Int64?
  /// A media type that has a content rule.
  package var type: String?

  package init(digests: [DigestAlgorithm: String] = [:], size: Int64? = nil, type: String? = nil) {
    self.digests = digests
    self.size = size
    self.type = type
  }

  package var isEmpty: Bool { digests.isEmpty && size == nil && type == nil }

  /// The names of the checks that it asks for.
  package var checks: Set<String> {
    Set(digests.keys.map(\.rawValue)).union(size == nil ? [] : ["size"]).union(type == nil ? [] : ["type"])
  }
}
