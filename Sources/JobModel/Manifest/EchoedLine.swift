/// A line that is shown under a fault: what is a secret in it, or may be one, is hidden, each scalar behind a `*`, so
/// that columns stay where they were.
struct EchoedLine {
  static func masked(_ line: String) -> String {
    var echoed = EchoedLine(shown: Array(Masked.text(line, in: .yaml).unicodeScalars))
    echoed.hideValues()
    return String(String.UnicodeScalarView(echoed.shown))
  }

  /// Keys whose values are secrets, or are written by mistake as if they were, wholly or in part.
  private static let words = [
    "auth", "bearer", "basic", "password", "passwd", "secret", "token", "cookie", "credential", "key",
  ]
  /// A key that is nearly one of these is that one, misspelled.
  private static let misspelled = ["bearer", "password", "secret", "credential"]
  private static let whole: Set<String> = ["value", "header"]
  /// They name what is none.
  private static let harmless: Set<String> = ["token_url", "client_key", "pinned_keys", "for_each"]
  private static let plain: Set<String> = ["none", "true", "false", "null", "~"]

  private var shown: [Unicode.Scalar]

  /// Hides the values of such keys; a mapping is looked into instead.
  private mutating func hideValues() {
    var position = 0
    while position < shown.count {
      defer { position += 1 }
      guard shown[position] == ":", let key = key(before: position), Self.takesSecret(key) else { continue }
      var start = position + 1
      while start < shown.count, shown[start].properties.isWhitespace { start += 1 }
      guard start < shown.count, !"{|>".unicodeScalars.contains(shown[start]), !isReference(start) else {
        continue
      }
      let end = end(of: start)
      if !Self.plain.contains(String(String.UnicodeScalarView(shown[start..<end]))) {
        for index in start..<end { shown[index] = "*" }
      }
      position = end - 1
    }
  }

  /// `${…}` alone is no secret, quoted or not.
  private func isReference(_ start: Int) -> Bool {
    shown[start...].drop { $0 == "\"" || $0 == "'" }.starts(with: "${".unicodeScalars)
  }

  private static func takesSecret(_ key: String) -> Bool {
    guard !harmless.contains(key) else { return false }
    return whole.contains(key) || words.contains { key.contains($0) }
      || NearMiss.of(key, among: misspelled) != nil
  }

  /// The word before a colon, in lower case.
  private func key(before colon: Int) -> String? {
    func isWord(_ scalar: Unicode.Scalar) -> Bool {
      scalar.properties.isAlphabetic || scalar.properties.numericType != nil
        || "_-.".unicodeScalars.contains(scalar)
    }
    var end = colon
    while end > 0, " \"'".unicodeScalars.contains(shown[end - 1]) { end -= 1 }
    var start = end
    while start > 0, isWord(shown[start - 1]) { start -= 1 }
    return start < end ? String(String.UnicodeScalarView(shown[start..<end])).lowercased() : nil
  }

  /// Behind the value that begins at `start`: its closing quote, else the mapping's or the line's end.
  private func end(of start: Int) -> Int {
    let first = shown[start]
    if first == "\"" || first == "'" {
      let rest = start + 1
      return shown[rest...].firstIndex(of: first).map { $0 + 1 } ?? shown.count
    }
    let isFlow = shown[..<start].contains("{")
    var end = start
    while end < shown.count {
      if isFlow, shown[end] == "}" || (shown[end] == "," && isKeyNext(end + 1)) { break }
      end += 1
    }
    while end > start + 1, shown[end - 1].properties.isWhitespace { end -= 1 }
    return end
  }

  /// Whether a key and its colon follow: only then does a comma end a value for certain.
  private func isKeyNext(_ start: Int) -> Bool {
    let word = shown[start...].drop { $0.properties.isWhitespace }
      .prefix { !$0.properties.isWhitespace && !",:{}".unicodeScalars.contains($0) }
    return !word.isEmpty && word.endIndex < shown.count && shown[word.endIndex] == ":"
  }
}
