/// Hides what may be secret in the URLs of a row that is shown: queries, which may be signatures, and user info.
enum Masked {
  /// Each hidden character becomes `*`, so that columns stay where they were.
  static func text(_ text: String) -> String {
    guard text.contains("://") else { return text }
    var shown = Array(text)
    var position = 0
    var isQuoted = false
    while position < shown.count {
      if shown[position] == "\"" { isQuoted.toggle() }
      guard shown[position...].starts(with: "://") else {
        position += 1
        continue
      }
      position = hide(&shown, from: position + 3, isQuoted: &isQuoted)
    }
    return String(shown)
  }

  /// Hides the secret parts of a URL whose authority begins at `start`; returns where the URL ends.
  private static func hide(_ shown: inout [Character], from start: Int, isQuoted: inout Bool) -> Int {
    var position = start
    var isInAuthority = true
    var isInQuery = false
    while position < shown.count {
      let character = shown[position]
      if character == "\"" {
        // A doubled quote inside a quoted cell is a quote of its text (RFC 4180, 2.7).
        guard isQuoted, position + 1 < shown.count, shown[position + 1] == "\"" else { break }
        if isInQuery { shown[position] = "*" }
        position += 1
      } else if !isQuoted, character == "," || character.isWhitespace {
        break
      }
      if isInQuery {
        shown[position] = "*"
      } else if isInAuthority, character == "@" {
        for hidden in start..<position { shown[hidden] = "*" }
        isInAuthority = false
      } else if character == "/" || character == "#" {
        isInAuthority = false
      } else if character == "?" {
        (isInAuthority, isInQuery) = (false, true)
      }
      position += 1
    }
    return position
  }
}
