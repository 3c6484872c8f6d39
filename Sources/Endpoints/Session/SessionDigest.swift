import JobModel

/// A whole-file digest in the JSON of the chunk-session API.
enum SessionDigest {
  /// There is none: an empty text is what some servers have for null.
  static func isAbsent(_ value: JSON) -> Bool { value == .null || value.string?.isEmpty == true }

  /// Lower-case hex, with or without the algorithm that `X-Chunk-Hash` has before it; nil for what is no SHA-256: it proves
  /// nothing.
  static func sha256(_ value: JSON) -> String? {
    guard let text = value.string?.lowercased() else { return nil }
    let isNamed = ["sha256=", "sha256:"].contains { text.utf8.starts(with: $0.utf8) }
    let digits = isNamed ? String(decoding: text.utf8.dropFirst(7), as: UTF8.self) : text
    return digits.utf8.count == 64 && digits.utf8.allSatisfy(\.isLowerHexDigit) ? digits : nil
  }
}
