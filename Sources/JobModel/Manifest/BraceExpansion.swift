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

  /// The first group of a text. Each brace is looked at once: a text may be full of those that begin no group.
  static func firstGroup(in text: String) -> Group? {
    /// A brace that is open, and its choices so far.
    struct Open {
      let start: String.Index
      var choiceStart: String.Index
      var choices: [Substring] = []
    }
    guard text.utf8.contains(UInt8(ascii: "{")) else { return nil }
    var open: [Open] = []
    var first: Group?
    var isEscaped = false
    for index in text.indices {
      if isEscaped {
        isEscaped = false
        continue
      }
      switch text[index] {
      case "\\": isEscaped = true
      case "{": open.append(Open(start: index, choiceStart: text.index(after: index)))
      case "," where !open.isEmpty:
        let last = open.count - 1
        open[last].choices.append(text[open[last].choiceStart..<index])
        open[last].choiceStart = text.index(after: index)
      case "}":
        guard var group = open.popLast() else { continue }
        if !group.choices.isEmpty, first.map({ group.start < $0.start }) ?? true {
          group.choices.append(text[group.choiceStart..<index])
          first = Group(start: group.start, end: text.index(after: index), choices: group.choices)
        }
        // What begins behind it is not the first; what it lies in might have been.
        if open.isEmpty, let first { return first }
      default: break
      }
    }
    return first
  }
}
