/// Text in XML and HTML.
enum Markup {
  /// The text as content or in a quoted attribute: what would be markup as references, and what neither may contain, or
  /// what turns the direction of text, as a visible escape.
  static func text(_ text: String, keepingNewlines: Bool = false) -> String {
    var out = ""
    for scalar in DisplayText.safe(text, keepingNewlines: keepingNewlines).unicodeScalars {
      switch scalar {
      case "&": out += "&amp;"
      case "<": out += "&lt;"
      case ">": out += "&gt;"
      case "\"": out += "&quot;"
      case "'": out += "&#39;"
      // Not characters in XML 1.0; the rest of the kind is none in HTML.
      case _ where scalar.value & 0xFFFE == 0xFFFE || (0xFDD0...0xFDEF).contains(scalar.value):
        out += "\\u{" + String(scalar.value, radix: 16) + "}"
      default: out.unicodeScalars.append(scalar)
      }
    }
    return out
  }
}
