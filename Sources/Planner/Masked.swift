/// Hides the queries of URLs in what is shown: a signed one is a secret.
enum Masked {
  /// Each character of a query becomes `*`, so that columns stay where they were.
  static func text(_ text: String) -> String {
    guard text.contains("://"), text.contains("?") else { return text }
    var result = ""
    var isInQuery = false
    var sawURL = false
    var tail = ""
    var isQuoted = false
    for character in text {
      if character == "\"" { isQuoted.toggle() }
      if character == "\"" || (!isQuoted && (character == "," || character.isWhitespace)) {
        isInQuery = false
        sawURL = false
      }
      result.append(isInQuery ? "*" : character)
      tail = String((tail + String(character)).suffix(3))
      if tail == "://" { sawURL = true }
      if character == "?", sawURL { isInQuery = true }
    }
    return result
  }
}
