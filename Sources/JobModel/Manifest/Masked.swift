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
    let mayHaveSecrets = text.utf8.contains { $0 == UInt8(ascii: "?") || $0 == UInt8(ascii: "@") }
    guard mayHaveSecrets else { return text }
    var masked = Masked(shown: Array(text.unicodeScalars), line: line)
    masked.hideAll()
    masked.hideWords()
    return String(String.UnicodeScalarView(masked.shown))
  }

  /// Scalars right behind a `?` that are more than the rest of a glob.
  private static let fewestOfQuery = 16
  /// What an authority stands behind, also where the scheme is forgotten, or slashes are escaped as JSON has them.
  private static let marks = ["//", "\\/\\/"].map { Array($0.unicodeScalars) }

  private var shown: [Unicode.Scalar]
  private let line: Line
  private var position = 0
  private var isQuoted = false
  /// A URL stands before in the same cell: it may go on behind a blank.
  private var isBehindURL = false

  private init(shown: [Unicode.Scalar], line: Line) {
    self.shown = shown
    self.line = line
  }

  private mutating func hideAll() {
    while position < shown.count {
      let scalar = shown[position]
      if scalar == "\"" { isQuoted.toggle() }
      if let mark = Self.marks.first(where: { shown[position...].starts(with: $0) }) {
        position += mark.count
        isBehindURL = true
        hide(isInAuthority: true)
      } else if scalar == "?", isBehindURL {
        hide(isInAuthority: false)
      } else {
        if endsCell(scalar) { isBehindURL = false }
        position += 1
      }
    }
  }

  /// Hides the secret parts of a URL whose authority, or whose query's `?`, is here.
  private mutating func hide(isInAuthority: Bool) {
    var start = position
    var isInAuthority = isInAuthority
    var isInQuery = false
    while position < shown.count, !endsURL(inQuery: isInQuery) {
      let scalar = shown[position]
      if isInQuery {
        shown[position] = "*"
      } else if isInAuthority, scalar == "@" {
        // The last `@` is the one before the host: one in a password hides what is before it too.
        for hidden in start..<position { shown[hidden] = "*" }
      } else if scalar == "/" || scalar == "#" {
        // Another URL may begin in what looked like the path of one.
        isInAuthority = Self.marks.contains { shown[...position].suffix($0.count).elementsEqual($0) }
        if isInAuthority { start = position + 1 }
      } else if scalar == "?" {
        (isInAuthority, isInQuery) = (false, true)
      }
      position += 1
    }
    if isInQuery { isBehindURL = false }
  }

  /// Hides each word behind the line's first `?` that may be of a query, whatever stands before it.
  private mutating func hideWords() {
    guard var start = shown.firstIndex(of: "?").map({ $0 + 1 }) else { return }
    while start < shown.count {
      let isFirst = shown[start - 1] == "?"
      let word = shown[start...].prefix { !endsWord($0) }
      let isOfQuery =
        word.contains { $0 == "=" || $0 == "&" }
        || isFirst && (word.count >= Self.fewestOfQuery || word.contains("\\"))
      if isOfQuery { for index in word.indices { shown[index] = "*" } }
      start = word.endIndex + 1
    }
  }

  private func endsWord(_ scalar: Unicode.Scalar) -> Bool {
    scalar.properties.isWhitespace || scalar == "?" || line != .text && scalar == "\""
      || line == .csv && scalar == ","
  }

  /// Whether what follows is another value of the row or the manifest.
  private func endsCell(_ scalar: Unicode.Scalar) -> Bool {
    switch line {
    case .text: false
    case .csv: scalar == "," && !isQuoted
    case .json: scalar == "\""
    case .yaml:
      scalar == "\""
        || scalar == "," && shown[(position + 1)...].first.map(\.properties.isWhitespace) ?? true
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
