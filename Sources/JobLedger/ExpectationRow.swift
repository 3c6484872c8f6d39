import JobModel

/// `expect` as a column's JSON.
enum ExpectationRow {
  private static func json(_ expect: Expectation) -> JSON {
    var members = digests(expect.digests)
    if let size = expect.size { members.append(.init("size", .integer(size))) }
    if let type = expect.type { members.append(.init("type", .string(type))) }
    return JSON.object(members)
  }

  /// The UTF-8 of `write`'s text; nothing where nothing is expected.
  static func write(_ expect: Expectation, to bytes: inout [UInt8]) {
    guard !expect.isEmpty else { return }
    // Nearly all of a long plan say one digest: no tree of values for each.
    if let (algorithm, digest) = expect.digests.first, expect.digests.count == 1, expect.size == nil,
      expect.type == nil, digest.utf8.allSatisfy({ $0.isLowerHexDigit })
    {
      bytes += "{\"".utf8
      bytes += algorithm.rawValue.utf8
      bytes += "\":\"".utf8
      bytes += digest.utf8
      bytes += "\"}".utf8
    } else {
      json(expect).write(to: &bytes)
    }
  }

  static func read(_ text: String) -> Expectation {
    if let only = onlyDigest(text) { return Expectation(digests: only) }
    let json = JSONText(text)
    return Expectation(digests: readDigests(json), size: json.int64("size"), type: json.string("type"))
  }

  /// `{"sha256":"…"}`, which nearly all of a long plan say, without a parser.
  private static func onlyDigest(_ text: String) -> [DigestAlgorithm: String]? {
    var text = text
    return text.withUTF8 { bytes in
      let quote = UInt8(ascii: "\"")
      guard bytes.count > 8, bytes[0] == UInt8(ascii: "{"), bytes[1] == quote,
        let end = bytes[2...].firstIndex(of: quote), bytes.count > end + 4,
        bytes[end + 1] == UInt8(ascii: ":"),
        bytes[end + 2] == quote, bytes[bytes.count - 2] == quote, bytes[bytes.count - 1] == UInt8(ascii: "}"),
        let algorithm = DigestAlgorithm(
          rawValue: String(decoding: UnsafeBufferPointer(rebasing: bytes[2..<end]), as: UTF8.self))
      else { return nil }
      let digest = bytes[(end + 3)..<(bytes.count - 2)]
      guard digest.count == algorithm.hexLength, digest.allSatisfy({ $0.isLowerHexDigit }) else { return nil }
      return [algorithm: String(decoding: UnsafeBufferPointer(rebasing: digest), as: UTF8.self)]
    }
  }

  static func digests(_ digests: [DigestAlgorithm: String]) -> [JSON.Member] {
    DigestAlgorithm.allCases.compactMap { algorithm in
      digests[algorithm].map { JSON.Member(algorithm.rawValue, .string($0)) }
    }
  }

  static func readDigests(_ text: String) -> [DigestAlgorithm: String] {
    onlyDigest(text) ?? readDigests(JSONText(text))
  }

  static func readDigests(_ json: JSONText) -> [DigestAlgorithm: String] {
    var found: [DigestAlgorithm: String] = [:]
    for algorithm in DigestAlgorithm.allCases { found[algorithm] = json.string(algorithm.rawValue) }
    return found
  }
}
