/// Texts for a terminal: what they may not contain, and how many columns they take.
package enum DisplayText {
  /// The text with everything escaped that could move the cursor, colour or reorder what is shown.
  package static func safe(_ text: String, keepingNewlines: Bool = false) -> String {
    guard text.unicodeScalars.contains(where: isDangerous) else { return text }
    var out = ""
    for scalar in text.unicodeScalars {
      if !isDangerous(scalar) || (keepingNewlines && scalar == "\n") {
        out.unicodeScalars.append(scalar)
      } else {
        let hex = String(scalar.value, radix: 16)
        out += scalar.value < 256 ? "\\x" + (hex.count < 2 ? "0" : "") + hex : "\\u{\(hex)}"
      }
    }
    return out
  }

  /// Columns, roughly: combining marks take none, East Asian wide characters and emoji two.
  package static func width(_ text: String) -> Int { text.reduce(0) { $0 + width($1) } }

  /// The beginning of the text that fits; the last column says `…` where something is missing.
  package static func truncated(_ text: String, to columns: Int) -> String {
    guard width(text) > columns else { return text }
    guard columns > 0 else { return "" }
    return prefix(text, columns: columns - 1) + "…"
  }

  /// As `truncated`, of a text with colours, which take no columns and end where it is cut.
  package static func clipped(_ text: String, to columns: Int) -> String {
    let plain = withoutColours(text)
    guard width(plain) > columns else { return text }
    guard plain.count < text.count else { return truncated(text, to: columns) }
    var (out, used, isInside) = ("", 0, false)
    for character in text {
      if isInside || character == "\u{1b}" {
        isInside = character != "m"
      } else {
        used += width(character)
        if used >= columns { break }
      }
      out.append(character)
    }
    return out + "…\u{1b}[0m"
  }

  /// The text without the sequences that `Paint` writes.
  package static func withoutColours(_ text: String) -> String {
    guard text.contains("\u{1b}") else { return text }
    var out = ""
    var isInside = false
    for character in text {
      if isInside || character == "\u{1b}" {
        isInside = character != "m"
      } else {
        out.append(character)
      }
    }
    return out
  }

  /// The text in lines of at most so many columns, broken at blanks; a longer word is cut.
  package static func wrapped(_ text: String, to columns: Int) -> [String] {
    var lines: [String] = []
    var line = ""
    for word in text.split(separator: " ", omittingEmptySubsequences: false) {
      if !line.isEmpty, width(line) + 1 + width(String(word)) > columns {
        lines.append(line)
        line = String(word)
      } else {
        line += (line.isEmpty ? "" : " ") + word
      }
    }
    return (lines + [line]).map { truncated($0, to: columns) }
  }

  /// Beginning and end of the text, `…` between them: names of one folder differ at their ends.
  package static func elided(_ text: String, to columns: Int) -> String {
    guard width(text) > columns else { return text }
    guard columns > 2 else { return truncated(text, to: columns) }
    let head = (columns - 1) / 2
    let tail = String(prefix(String(text.reversed()), columns: columns - 1 - head).reversed())
    return prefix(text, columns: head) + "…" + tail
  }

  /// The text filled with blanks on its right.
  package static func padded(_ text: String, to columns: Int) -> String {
    text + String(repeating: " ", count: max(0, columns - width(text)))
  }

  private static func prefix(_ text: String, columns: Int) -> String {
    var used = 0
    var out = ""
    for character in text {
      used += width(character)
      if used > columns { break }
      out.append(character)
    }
    return out
  }

  private static func width(_ character: Character) -> Int {
    var width = 0
    for scalar in character.unicodeScalars {
      // U+FE0F asks for the emoji form of what is before it.
      if scalar.value == 0xFE0F { width = 2 }
      width = max(width, self.width(scalar))
    }
    return width
  }

  private static func width(_ scalar: Unicode.Scalar) -> Int {
    if scalar.isASCII { return 1 }
    switch scalar.properties.generalCategory {
    case .nonspacingMark, .enclosingMark, .format: return 0
    default: break
    }
    switch scalar.value {
    case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0x33FF, 0x3400...0x4DBF, 0x4E00...0x9FFF, 0xA000...0xA4CF,
      0xA960...0xA97F, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F, 0xFF00...0xFF60, 0xFFE0...0xFFE6,
      0x1F1E6...0x1F1FF, 0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1FAFF, 0x20000...0x3FFFD:
      return 2
    default: return 1
    }
  }

  /// Controls (C0, DEL, C1), line separators, and the marks that turn the direction of text.
  private static func isDangerous(_ scalar: Unicode.Scalar) -> Bool {
    switch scalar.value {
    case 0..<0x20, 0x7F...0x9F, 0x2028, 0x2029, 0x200E, 0x200F, 0x061C, 0x202A...0x202E, 0x2066...0x2069: true
    default: false
    }
  }
}
