import JobModel

/// A whole-file digest in the JSON of the chunk-session API.
enum SessionDigest {
  /// Lower-case hex; nil for what is no SHA-256: it proves nothing.
  static func sha256(_ value: JSON) -> String? {
    guard let digits = value.string, digits.utf8.count == 64,
      digits.utf8.allSatisfy({ (48...57).contains($0) || (65...70).contains($0) || (97...102).contains($0) })
    else { return nil }
    return digits.lowercased()
  }
}
