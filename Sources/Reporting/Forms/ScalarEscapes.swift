extension String {
  /// The text with scalars replaced: to Swift's characters a quote and a combining mark behind it are one, and no quote.
  func escaping(_ escapes: [Unicode.Scalar: String]) -> String {
    guard unicodeScalars.contains(where: { escapes[$0] != nil }) else { return self }
    var out = ""
    for scalar in unicodeScalars {
      if let escape = escapes[scalar] { out += escape } else { out.unicodeScalars.append(scalar) }
    }
    return out
  }
}
