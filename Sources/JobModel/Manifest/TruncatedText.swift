extension StringProtocol {
  /// What strangers say, cut to so many characters, with an ellipsis where something is left out: `SecretMask` knows the
  /// beginning of a secret by it.
  package func truncated(to limit: Int) -> String {
    let end = index(startIndex, offsetBy: limit, limitedBy: endIndex) ?? endIndex
    return end == endIndex ? String(self) : self[..<end] + "…"
  }
}
