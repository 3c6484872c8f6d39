/// A text with the references that are not decided before the transfer is planned.
package struct InterpolatedText: Sendable, Hashable {
  package enum Part: Sendable, Hashable {
    case literal(String)
    case reference(Reference)
  }

  /// `${NAME|filter…}`.
  package struct Reference: Sendable, Hashable {
    package var name: Name
    package var filters: [Filter]

    package init(name: Name, filters: [Filter]) {
      self.name = name
      self.filters = filters
    }
  }

  package enum Name: Sendable, Hashable {
    case variable(String)
    case environment(String)
    case column(String)
    case runID
    case runDate
    case uuid
    case source(SourceField)
    case fact(NoticeFact)
    case file(FileFact)
    /// The transfer's id.
    case id

    /// As the manifest writes it, without the braces.
    package var text: String {
      switch self {
      case .variable(let name): "var.\(name)"
      case .environment(let name): "env.\(name)"
      case .column(let name): "each.\(name)"
      case .runID: "run.id"
      case .runDate: "run.date"
      case .uuid: "uuid"
      case .source(let field): "source.\(field.rawValue)"
      case .fact(let fact): fact.rawValue
      case .file(let fact): fact.name
      case .id: "id"
      }
    }
  }

  package enum SourceField: String, Sendable, Hashable, CaseIterable { case path, name, stem, ext }

  package enum Filter: Sendable, Hashable {
    case url
    case basename
    case fallback(String)
  }

  package var parts: [Part]

  package init(parts: [Part]) {
    self.parts = parts
  }

  package init(_ literal: String) {
    parts = literal.isEmpty ? [] : [.literal(literal)]
  }

  /// The whole text, where nothing is left to put in.
  package var literal: String? {
    switch parts.count {
    case 0: ""
    case 1:
      if case .literal(let text) = parts[0] { text } else { nil }
    default: nil
    }
  }

  /// The text before the first reference.
  package var literalPrefix: String {
    if case .literal(let text)? = parts.first { text } else { "" }
  }

  /// As a manifest would write it, what is not decided in braces: the same for every run.
  package var written: String {
    parts.map { part in
      switch part {
      case .literal(let text): text
      case .reference(let reference): "${\(reference.name.text)}"
      }
    }.joined()
  }

  package var references: [Reference] {
    parts.compactMap { part in
      if case .reference(let reference) = part { reference } else { nil }
    }
  }

  /// Differs from entry to entry of a fan-out, or from transfer to transfer.
  package var dependsOnEntry: Bool {
    references.contains { reference in
      switch reference.name {
      case .column, .source, .uuid: true
      case .variable, .environment, .runID, .runDate, .fact, .file, .id: false
      }
    }
  }

  package var endsInSlash: Bool {
    if case .literal(let text)? = parts.last { text.hasSuffix("/") } else { false }
  }

  package mutating func append(literal text: String) {
    guard !text.isEmpty else { return }
    if case .literal(let last)? = parts.last {
      parts[parts.count - 1] = .literal(last + text)
    } else {
      parts.append(.literal(text))
    }
  }

  package func dropping(prefix: String) -> InterpolatedText {
    guard case .literal(let text)? = parts.first, text.hasPrefix(prefix) else { return self }
    var rest = InterpolatedText(parts: Array(parts.dropFirst()))
    let remaining = String(text.dropFirst(prefix.count))
    if !remaining.isEmpty { rest.parts.insert(.literal(remaining), at: 0) }
    return rest
  }
}
