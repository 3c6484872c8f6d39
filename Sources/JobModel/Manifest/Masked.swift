/// Hides what may be secret in the URLs of a row that is shown: queries, which may be signatures, and user info.
package struct Masked {
  /// What ends a URL in the line.
  package enum Line {
    /// A comma outside of quotes, a quote, a blank (RFC 4180).
    case csv
    /// A quote.
    case json
    /// A blank, or a double quote.
    case yaml
    /// A blank: all else may be part of it.
    case text
  }

  /// Each hidden scalar becomes `*`, so that columns stay where they were.
  package static func text(_ text: String, in line: Line = .text) -> String {
    guard text.utf8.contains(UInt8(ascii: ":")) else { return text }
    var masked = Masked(shown: Array(text.unicodeScalars), line: line)
    masked.hideAll()
    return String(String.UnicodeScalarView(masked.shown))
  }

  private var shown: [Unicode.Scalar]
  private let line: Line
  private var position = 0
  private var isQuoted = false

  private init(shown: [Unicode.Scalar], line: Line) {
    self.shown = shown
    self.line = line
  }

  private mutating func hideAll() {
    let mark = Array("://".unicodeScalars)
    while position < shown.count {
      if shown[position] == "\"" { isQuoted.toggle() }
      if shown[position...].starts(with: mark) {
        position += mark.count
        hide()
      } else {
        position += 1
      }
    }
  }

  /// Hides the secret parts of a URL whose authority begins here.
  private mutating func hide() {
    let start = position
    var isInAuthority = true
    var isInQuery = false
    while position < shown.count, !endsURL(inQuery: isInQuery) {
      let scalar = shown[position]
      if isInQuery {
        shown[position] = "*"
      } else if isInAuthority, scalar == "@" {
        // The last `@` is the one before the host: one in a password hides what is before it too.
        for hidden in start..<position { shown[hidden] = "*" }
      } else if scalar == "/" || scalar == "#" {
        isInAuthority = false
      } else if scalar == "?" {
        (isInAuthority, isInQuery) = (false, true)
      }
      position += 1
    }
  }

  /// Whether the URL ends before this scalar. Of a pair that stands for one quote the first is passed over.
  private mutating func endsURL(inQuery: Bool) -> Bool {
    let scalar = shown[position]
    let next = position + 1 < shown.count ? shown[position + 1] : nil
    switch line {
    case .text: return scalar.properties.isWhitespace
    case .yaml: return scalar == "\"" || scalar.properties.isWhitespace
    case .json:
      guard scalar == "\\", next != nil else { return scalar == "\"" }
    case .csv:
      // A doubled quote inside a quoted cell is a quote of its text (RFC 4180, 2.7).
      guard scalar == "\"" else { return !isQuoted && (scalar == "," || scalar.properties.isWhitespace) }
      guard isQuoted, next == "\"" else { return true }
    }
    if inQuery { shown[position] = "*" }
    position += 1
    return false
  }
}
