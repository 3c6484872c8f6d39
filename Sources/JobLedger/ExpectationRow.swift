import JobModel

/// `expect` as a column's JSON.
enum ExpectationRow {
  static func write(_ expect: Expectation) -> String? {
    guard !expect.isEmpty else { return nil }
    var members = digests(expect.digests)
    if let size = expect.size { members.append(.init("size", .integer(size))) }
    if let type = expect.type { members.append(.init("type", .string(type))) }
    return JSON.object(members).text
  }

  static func read(_ text: String) -> Expectation {
    if let only = onlyDigest(text) { return Expectation(digests: only) }
    let json = JSONText(text)
    return Expectation(digests: readDigests(json), size: json.int64("size"), type: json.string("type"))
  }

  /// `{"sha256":"…"}`, which nearly all of a long plan say, without a parser.
  private static func onlyDigest(_ text: String) -> [DigestAlgorithm: String]? {
    let pieces = text.utf8.split(separator: UInt8(ascii: "\""), omittingEmptySubsequences: false)
    guard pieces.count == 5, let algorithm = DigestAlgorithm(rawValue: String(Substring(pieces[1]))) else {
      return nil
    }
    let digest = String(Substring(pieces[3]))
    return digest.utf8.count == algorithm.hexLength ? [algorithm: digest] : nil
  }

  static func digests(_ digests: [DigestAlgorithm: String]) -> [JSON.Member] {
    DigestAlgorithm.allCases.compactMap { algorithm in
      digests[algorithm].map { JSON.Member(algorithm.rawValue, .string($0)) }
    }
  }

  static func readDigests(_ json: JSONText) -> [DigestAlgorithm: String] {
    var found: [DigestAlgorithm: String] = [:]
    for algorithm in DigestAlgorithm.allCases { found[algorithm] = json.string(algorithm.rawValue) }
    return found
  }
}
