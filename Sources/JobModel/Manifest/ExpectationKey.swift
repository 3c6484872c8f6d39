/// A key of `expect`.
package enum ExpectationKey: Sendable, Hashable {
  case digest(DigestAlgorithm)
  case size
  case type

  package static let all: [ExpectationKey] =
    DigestAlgorithm.allCases.filter { $0 != .crc32 && $0 != .crc64nvme }.map { .digest($0) } + [.size, .type]

  package var word: String {
    switch self {
    case .digest(let algorithm): algorithm.rawValue
    case .size: "size"
    case .type: "type"
    }
  }

  package func apply(_ text: String, to expectation: inout Expectation) throws(ValueFault) {
    switch self {
    case .digest(let algorithm): expectation.digests[algorithm] = try Self.digest(text, algorithm)
    case .size: expectation.size = try Units.size(text)
    case .type: expectation.type = try Self.type(text)
    }
  }

  private static func digest(_ text: String, _ algorithm: DigestAlgorithm) throws(ValueFault) -> String {
    if text.utf8.count == algorithm.hexLength, text.allBytes({ $0.isLowerHexDigit }) { return text }
    let form = "\(algorithm.rawValue) is \(algorithm.hexLength) hex characters"
    guard text.utf8.allSatisfy({ $0.isHexDigit }) else {
      throw ValueFault("`\(text)` is not hex", hint: form)
    }
    guard text.utf8.count == algorithm.hexLength else {
      throw ValueFault("a \(algorithm.rawValue) digest of \(text.utf8.count) characters", hint: form)
    }
    return text.lowercased()
  }

  private static func type(_ text: String) throws(ValueFault) -> String {
    let type = text.lowercased()
    guard MediaTypeRule.supported.contains(type) else {
      throw ValueFault(
        "there is no rule for the content of `\(text)`",
        hint: "types with a rule: \(MediaTypeRule.supported.joined(separator: ", "))")
    }
    return type
  }
}
