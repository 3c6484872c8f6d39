/// The lines of a text as libyaml counts them, so that each place names the line that it is in.
package enum TextLines {
  package static func split(_ text: String) -> [Substring] {
    var lines: [Substring] = []
    var rest = text.unicodeScalars[...]
    while let end = rest.firstIndex(where: isBreak) {
      lines.append(Substring(rest[..<end]))
      let isPair = rest[end...].starts(with: "\r\n".unicodeScalars)
      rest = rest[rest.index(end, offsetBy: isPair ? 2 : 1)...]
    }
    lines.append(Substring(rest))
    return lines
  }

  /// YAML 1.1 has more line breaks than 1.2, and libyaml keeps to them.
  private static func isBreak(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar {
    case "\n", "\r", "\u{85}", "\u{2028}", "\u{2029}": true
    default: false
    }
  }
}
