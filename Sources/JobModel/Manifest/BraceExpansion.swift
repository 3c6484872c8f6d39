/// Writes `{a,b}` out: one text for each alternative. Braces without a comma stand for themselves.
enum BraceExpansion {
  private static let limit = 1000

  static func expand(_ text: String) throws(ValueFault) -> [String] {
    var done: [String] = []
    var open = [text]
    while let next = open.popLast() {
      guard done.count + open.count < limit else {
        throw ValueFault("the braces of `\(text)` stand for more than \(limit) patterns", hint: "use `*`")
      }
      if let group = firstGroup(in: next) {
        let head = next[..<group.start]
        let tail = next[group.end...]
        open += group.choices.reversed().map { String(head) + $0 + String(tail) }
      } else {
        done.append(next)
      }
    }
    return done
  }

  struct Group {
    var start: String.Index
    var end: String.Index
    var choices: [Substring]
  }

  /// The group that a text begins with, `{` first.
  static func group(in text: Substring) -> Group? {
    var depth = 0
    var isEscaped = false
    var choices: [Substring] = []
    var choiceStart = text.index(after: text.startIndex)
    for index in text.indices {
      if isEscaped {
        isEscaped = false
        continue
      }
      switch text[index] {
      case "\\": isEscaped = true
      case "{": depth += 1
      case "," where depth == 1:
        choices.append(text[choiceStart..<index])
        choiceStart = text.index(after: index)
      case "}":
        depth -= 1
        guard depth == 0 else { continue }
        guard !choices.isEmpty else { return nil }
        choices.append(text[choiceStart..<index])
        return Group(start: text.startIndex, end: text.index(after: index), choices: choices)
      default: break
      }
    }
    return nil
  }

  private static func firstGroup(in text: String) -> Group? {
    var isEscaped = false
    for index in text.indices {
      if isEscaped {
        isEscaped = false
      } else if text[index] == "\\" {
        isEscaped = true
      } else if text[index] == "{", let group = group(in: text[index...]) {
        return group
      }
    }
    return nil
  }
}
