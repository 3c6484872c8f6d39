/// A `.netrc` file's entries (the format of ftp(1), with curl's quoted words).
package struct NetrcFile: Sendable {
  package struct Entry: Sendable, Hashable {
    package var login: String?
    package var password: String?
  }
  private var machines: [(name: String?, entry: Entry)] = []

  package init(_ text: String) {
    var words = Words(text)
    var current: (name: String?, entry: Entry)?
    while let word = words.next() {
      switch word {
      case "machine":
        if let current { machines.append(current) }
        current = words.next().map { ($0.lowercased(), Entry()) }
      case "default":
        if let current { machines.append(current) }
        current = (nil, Entry())
      case "login": current?.entry.login = words.next()
      case "password": current?.entry.password = words.next()
      case "account": _ = words.next()
      case "macdef": words.skipMacro()
      default: continue
      }
    }
    if let current { machines.append(current) }
  }

  /// The entry of a host, or the default one; the first that fits counts.
  package func entry(for host: String) -> Entry? {
    machines.first { $0.name == nil || $0.name == host.lowercased() }?.entry
  }

  /// The file's words: between blanks, or in quotes with `\"`, `\\`, `\n`, `\r`, `\t`; `#` begins a comment where a word
  /// could begin a line.
  private struct Words {
    private var rest: Substring
    init(_ text: String) { rest = text[...] }

    mutating func next() -> String? {
      var startsLine = rest.startIndex == rest.base.startIndex
      while let first = rest.first {
        if first.isNewline {
          startsLine = true
        } else if first == "#", startsLine {
          rest = rest.drop { !$0.isNewline }
          continue
        } else if !first.isWhitespace {
          return first == "\"" ? quoted() : bare()
        }
        rest.removeFirst()
      }
      return nil
    }

    private mutating func bare() -> String {
      let word = rest.prefix { !$0.isWhitespace }
      rest = rest.dropFirst(word.count)
      return String(word)
    }

    private mutating func quoted() -> String {
      rest.removeFirst()
      var word = ""
      while let character = rest.popFirst() {
        if character == "\"" { break }
        guard character == "\\", let escaped = rest.popFirst() else {
          word.append(character)
          continue
        }
        switch escaped {
        case "n": word.append("\n")
        case "r": word.append("\r")
        case "t": word.append("\t")
        default: word.append(escaped)
        }
      }
      return word
    }

    /// A macro ends with an empty line.
    mutating func skipMacro() {
      if let end = rest.firstRange(of: "\n\n") { rest = rest[end.upperBound...] } else { rest = "" }
    }
  }
}
