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
    let json = JSONText(text)
    return Expectation(digests: readDigests(json), size: json.int64("size"), type: json.string("type"))
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
