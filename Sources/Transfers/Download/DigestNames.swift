import Digests
import JobModel

extension DigestAlgorithm {
  var kind: DigestKind {
    switch self {
    case .sha256: .sha256
    case .sha512: .sha512
    case .sha1: .sha1
    case .md5: .md5
    case .crc32: .crc32
    case .crc32c: .crc32c
    case .crc64nvme: .crc64nvme
    }
  }

  static func named(_ found: [DigestKind: String]) -> [DigestAlgorithm: String] {
    var named: [DigestAlgorithm: String] = [:]
    for algorithm in allCases { if let digest = found[algorithm.kind] { named[algorithm] = digest } }
    return named
  }
}
