/// Turns libyaml's words into ours, and tells where a value would do with quotes.
struct SyntaxExplanation {
  private let lines: [Substring]
  private let text: String

  init(text: String) {
    self.text = text
    lines = TextLines.split(text)
  }

  func explain(_ fault: SyntaxFault) -> YAMLFault {
    if let offset = fault.offset {
      return YAMLFault(
        "\(fault.problem)", at: TextEncoding.mark(ofByte: offset, in: text.utf8), hint: "remove the character"
      )
    }
    for mark in [fault.mark, fault.contextMark].compactMap({ $0 }) {
      if let suspect = suspect(at: mark, isInFlow: fault.isInFlow) {
        return YAMLFault(
          "YAML can't read this value: \(fault.problem)",
          at: YAMLMark(line: mark.line, column: suspect.column), hint: "quote it: \(suspect.quoted)")
      }
    }
    // A key without its colon is noticed only where the next line begins.
    let isKey = fault.problem.contains("could not find expected ':'")
    return YAMLFault(
      "YAML can't read this: \(fault.problem)", at: isKey ? fault.contextMark ?? fault.mark : fault.mark,
      hint: hint(for: fault))
  }

  private func hint(for fault: SyntaxFault) -> String? {
    if fault.problem.contains("tab") { return "indent with spaces" }
    if fault.problem.contains("mapping values are not allowed") {
      return "a value that holds `: ` is quoted; keys of one mapping stand in one column"
    }
    if fault.problem.contains("found character that cannot start any token") {
      return "quote the value that begins here, and indent with spaces"
    }
    if fault.problem.contains("expected <block end>") || fault.problem.contains("expected key") {
      return "keys of one mapping stand in one column"
    }
    if fault.problem.contains("could not find expected ':'") {
      return "a key is followed by `: ` and its value"
    }
    if fault.problem.contains("expected ',' or") { return "a bracket or a comma is missing, or a quote" }
    return nil
  }

  /// The first value of the fault's line, outside quotes, that YAML takes for something else.
  private func suspect(at fault: YAMLMark, isInFlow: Bool) -> (column: Int, quoted: String)? {
    guard fault.line >= 1, fault.line <= lines.count else { return nil }
    let scalars = Array(lines[fault.line - 1].unicodeScalars)
    // The brackets that are open at the fault were opened on an earlier line.
    let beginsInFlow = isInFlow && openBrackets(scalars.prefix(fault.column - 1)) <= 0
    for start in valueStarts(scalars) {
      let isFlow = beginsInFlow || openBrackets(scalars[..<start]) > 0
      let value = value(scalars, from: start, isFlow: isFlow)
      let word = String(String.UnicodeScalarView(value))
      // Within brackets a word with a `:` behind it may be a key without a value, unless the fault is that very `:`.
      let isRefusedColon = word.hasSuffix(":") && (!isFlow || value.endIndex == fault.column)
      let refused =
        "*@`%".unicodeScalars.contains(scalars[start]) || (isFlow && word.contains("${")) || isRefusedColon
      // A word with `: ` in it is a key; an alias with a proper name is YAML's own, its fault is another one.
      if refused, !word.contains(": "), !isAlias(word) { return (start + 1, "\"\(word)\"") }
    }
    return nil
  }

  private func isAlias(_ word: String) -> Bool {
    word.hasPrefix("*") && word.count > 1
      && word.dropFirst().unicodeScalars.allSatisfy {
        $0 == "-" || $0 == "_" || ($0.isASCII && $0.properties.isAlphabetic) || ("0"..."9").contains($0)
      }
  }

  /// Indexes at which a value begins: after `- `, `: `, and in brackets after `[`, `,`.
  private func valueStarts(_ scalars: [Unicode.Scalar]) -> [Int] {
    var starts: [Int] = []
    var quote: Unicode.Scalar?
    var expectsValue = true
    for (index, scalar) in scalars.enumerated() {
      if let open = quote {
        if scalar == open { quote = nil }
        continue
      }
      if scalar == " " { continue }
      let atStart = index == 0 || " [{,".unicodeScalars.contains(scalars[index - 1])
      if scalar == "#", atStart { break }
      if scalar == "\"" || scalar == "'", expectsValue {
        quote = scalar
        expectsValue = false
        continue
      }
      let followedBySpace = index + 1 >= scalars.count || scalars[index + 1] == " "
      if scalar == "-", followedBySpace, expectsValue { continue }
      if scalar == ":", followedBySpace {
        expectsValue = index + 1 < scalars.count
        continue
      }
      if "[{,".unicodeScalars.contains(scalar), index == 0 || scalars[index - 1] != "$" {
        expectsValue = true
        continue
      }
      if expectsValue {
        starts.append(index)
        expectsValue = false
      }
    }
    return starts
  }

  private func openBrackets(_ scalars: ArraySlice<Unicode.Scalar>) -> Int {
    scalars.count { $0 == "[" || $0 == "{" } - scalars.count { $0 == "]" || $0 == "}" }
  }

  private func value(_ scalars: [Unicode.Scalar], from start: Int, isFlow: Bool) -> ArraySlice<Unicode.Scalar>
  {
    var depth = 0
    var end = start
    while end < scalars.count {
      let scalar = scalars[end]
      if scalar == "#", end > start, scalars[end - 1] == " " { break }
      if isFlow {
        if scalar == "{" { depth += 1 }
        if depth == 0, ",]}".unicodeScalars.contains(scalar) { break }
        if scalar == "}" { depth -= 1 }
      }
      end += 1
    }
    while end > start, scalars[end - 1] == " " { end -= 1 }
    return scalars[start..<end]
  }
}
