/// Reads `${NAME|filter}` out of a text; `$${` is a literal `${`.
package struct InterpolationParser {
  private var rest: Substring

  package static func parse(_ text: String) throws(ValueFault) -> InterpolatedText {
    guard text.contains("${") else { return InterpolatedText(text) }
    var parser = InterpolationParser(rest: text[...])
    return try parser.parse()
  }

  private mutating func parse() throws(ValueFault) -> InterpolatedText {
    var result = InterpolatedText("")
    while let dollar = rest.firstIndex(of: "$") {
      result.append(literal: String(rest[..<dollar]))
      rest = rest[dollar...]
      if rest.hasPrefix("$${") {
        result.append(literal: "${")
        rest = rest.dropFirst(3)
      } else if rest.hasPrefix("${") {
        rest = rest.dropFirst(2)
        result.parts.append(.reference(try reference()))
      } else {
        result.append(literal: "$")
        rest = rest.dropFirst()
      }
    }
    result.append(literal: String(rest))
    return result
  }

  private mutating func reference() throws(ValueFault) -> InterpolatedText.Reference {
    let name = token()
    var filters: [InterpolatedText.Filter] = []
    while rest.first == "|" {
      rest = rest.dropFirst()
      filters.append(try filter())
    }
    guard rest.first == "}" else {
      throw ValueFault(
        "`${` is not closed", hint: "write `${\(name)}`, or `$${` for the two characters themselves")
    }
    rest = rest.dropFirst()
    return InterpolatedText.Reference(name: try Self.name(name), filters: filters)
  }

  private mutating func filter() throws(ValueFault) -> InterpolatedText.Filter {
    let word = token()
    if rest.first == "(" {
      guard let close = rest.firstIndex(of: ")") else {
        throw ValueFault("`\(word)(` is not closed", hint: "add `)`")
      }
      let argument = String(rest[rest.index(after: rest.startIndex)..<close])
      rest = rest[rest.index(after: close)...]
      rest = rest.drop { $0 == " " }
      guard word == "default" else { throw unknownFilter(word) }
      return .fallback(argument)
    }
    switch word {
    case "url": return .url
    case "basename": return .basename
    default: throw unknownFilter(word)
    }
  }

  private func unknownFilter(_ word: String) -> ValueFault {
    ValueFault("there is no filter `\(word)`", hint: "the filters are `|url`, `|basename` and `|default(x)`")
  }

  private mutating func token() -> String {
    let word = rest.prefix { !"|}({$".contains($0) }
    rest = rest[word.endIndex...]
    let trimmed = word.drop { $0 == " " }
    return String(trimmed.reversed().drop { $0 == " " }.reversed())
  }

  /// Reads what stands in the braces, without filters.
  package static func name(_ text: String) throws(ValueFault) -> InterpolatedText.Name {
    switch text {
    case "run.id": return .runID
    case "run.date": return .runDate
    case "uuid": return .uuid
    case "id": return .id
    default:
      if let fact = NoticeFact(rawValue: text) { return .fact(fact) }
      if let fact = FileFact(name: text) { return .file(fact) }
    }
    let form =
      "known are var.NAME, env.NAME, each.COLUMN, run.id, run.date, uuid, source.path, .name, .stem, .ext"
    guard !text.isEmpty else { throw ValueFault("`${}` names nothing", hint: form) }
    if let dot = text.firstIndex(of: ".") {
      let key = String(text[text.index(after: dot)...])
      let kind = text[..<dot]
      guard !key.isEmpty else { throw ValueFault("`${\(text)}` names nothing", hint: form) }
      switch kind {
      case "var": return .variable(key)
      case "env": return .environment(key)
      case "each": return .column(key)
      case "source":
        if let field = InterpolatedText.SourceField(rawValue: key) { return .source(field) }
      default: break
      }
    }
    let near = NearMiss.of(
      text,
      among: ["run.id", "run.date", "uuid", "source.path", "source.name", "source.stem"]
        + NoticeFact.allCases.map(\.rawValue) + FileFact.allCases.map(\.name))
    let known =
      text.hasPrefix("file.") ? "known are \(FileFact.allCases.map(\.name).joined(separator: ", "))" : form
    throw ValueFault("`${\(text)}` is unknown", hint: near.map { "did you mean `${\($0)}`?" } ?? known)
  }
}
