/// A pattern of paths or ids: `*` and `?` within a segment, `**` over any number of them, `[a-z]`, `[!a-z]`,
/// `{a,b}`; `\` takes the next character as it is.
package struct GlobPattern: Sendable, Hashable {
  package let text: String
  /// The pattern once for each way through its braces.
  private let alternatives: [[GlobSegment]]
  /// Everything up to the last `/` before the first special character, unescaped; ends in `/`, or is empty.
  package let fixedPart: String
  /// A path, or id, that the pattern names literally.
  package let isLiteral: Bool

  package init(_ text: String) throws(ValueFault) {
    self.text = text
    let expanded = try BraceExpansion.expand(text)
    var alternatives: [[GlobSegment]] = []
    for one in expanded {
      var segments: [GlobSegment] = []
      for part in one.utf8.split(separator: 0x2F).map(Substring.init) where part != "." {
        let segment = try GlobSegment(part)
        // `**/**` says no more than `**`, and would cost time.
        if segment == .anyDepth, segments.last == .anyDepth { continue }
        segments.append(segment)
      }
      alternatives.append(segments)
    }
    self.alternatives = alternatives
    isLiteral = !Self.isPattern(text)
    fixedPart = Self.fixedPart(of: text)
  }

  /// Whether a text holds any character that makes it a pattern.
  package static func isPattern(_ text: String) -> Bool { special(in: text) != nil }

  /// A text with its special characters escaped.
  package static func escape(_ text: String) -> String {
    var result = String.UnicodeScalarView()
    for scalar in text.unicodeScalars {
      if "*?[]{}\\".unicodeScalars.contains(scalar) { result.append("\\") }
      result.append(scalar)
    }
    return String(result)
  }

  package static func unescape(_ text: String) -> String {
    guard text.utf8.contains(UInt8(ascii: "\\")) else { return text }
    var result = String.UnicodeScalarView()
    var rest = text.unicodeScalars[...]
    while let character = rest.popFirst() {
      // A backslash before anything else is a name's own.
      if character == "\\", let next = rest.first, "*?[]{}\\".unicodeScalars.contains(next) {
        result.append(next)
        rest = rest.dropFirst()
      } else {
        result.append(character)
      }
    }
    return String(result)
  }

  package func matches(_ path: String) -> Bool {
    let names = Self.names(of: path)
    return alternatives.contains { Self.match($0[...], names[...]) == .whole }
  }

  /// Whether a path below this folder could match.
  package func mayMatch(below folder: String) -> Bool {
    let names = Self.names(of: folder)
    return alternatives.contains { segments in
      Self.leads(segments[...], names[...])
    }
  }

  /// Whether every path below a folder that matches this pattern's head (all before its last `/**`) matches.
  package func coversAll(below folder: String) -> Bool {
    let names = Self.names(of: folder)
    return alternatives.contains { segments in
      segments.last == .anyDepth && Self.match(segments.dropLast(), names[...]) == .whole
    }
  }

  private enum Outcome { case whole, no }

  private static func names(of path: String) -> [[Unicode.Scalar]] {
    var names: [[Unicode.Scalar]] = []
    var name: [Unicode.Scalar] = []
    func end() {
      if !name.isEmpty, name != ["."] { names.append(name) }
      name.removeAll(keepingCapacity: true)
    }
    for scalar in path.unicodeScalars {
      if scalar == "/" { end() } else { name.append(scalar) }
    }
    end()
    return names
  }

  private static func match(
    _ segments: ArraySlice<GlobSegment>, _ names: ArraySlice<[Unicode.Scalar]>
  ) -> Outcome {
    var segments = segments
    var names = names
    while let segment = segments.first {
      if segment == .anyDepth {
        let rest = segments.dropFirst()
        // At the end it stands for one name or more: `a/**` is what lies below `a`, not `a`.
        if rest.isEmpty { return names.isEmpty ? .no : .whole }
        for skipped in 0...names.count where match(rest, names.dropFirst(skipped)) == .whole { return .whole }
        return .no
      }
      guard let name = names.first, segment.matches(name) else { return .no }
      segments = segments.dropFirst()
      names = names.dropFirst()
    }
    return names.isEmpty ? .whole : .no
  }

  private static func leads(_ segments: ArraySlice<GlobSegment>, _ names: ArraySlice<[Unicode.Scalar]>)
    -> Bool
  {
    guard let segment = segments.first else { return false }
    if segment == .anyDepth { return true }
    guard let name = names.first else { return true }
    return segment.matches(name) && leads(segments.dropFirst(), names.dropFirst())
  }

  private static func special(in text: String) -> String.Index? {
    let group = BraceExpansion.firstGroup(in: text)?.start
    var isEscaped = false
    for index in text.unicodeScalars.indices {
      if isEscaped {
        isEscaped = false
        continue
      }
      switch text.unicodeScalars[index] {
      case "\\": isEscaped = true
      case "*", "?", "[": return index
      case "{" where index == group: return index
      default: break
      }
    }
    return nil
  }

  private static func fixedPart(of text: String) -> String {
    let head = text[..<(special(in: text) ?? text.endIndex)]
    return unescape(RelativePath.folder(String(head)))
  }
}
