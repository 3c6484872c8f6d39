/// A JSON value whose texts may say what is known only when it is sent.
package indirect enum JSONTemplate: Sendable, Hashable {
  case value(JSON)
  case text(InterpolatedText)
  case list([JSONTemplate])
  case mapping([Member])

  package struct Member: Sendable, Hashable {
    package var name: String
    package var value: JSONTemplate

    package init(_ name: String, _ value: JSONTemplate) {
      self.name = name
      self.value = value
    }
  }

  /// The value, with each text put in: a text stays a text, whatever it says.
  package func filled(_ text: (InterpolatedText) -> String) -> JSON {
    switch self {
    case .value(let json): json
    case .text(let one): .string(text(one))
    case .list(let items): .array(items.map { $0.filled(text) })
    case .mapping(let members): .object(members.map { JSON.Member($0.name, $0.value.filled(text)) })
    }
  }

  /// The template with other texts.
  package func map<Fault: Error>(
    _ text: (InterpolatedText) throws(Fault) -> InterpolatedText
  ) throws(Fault) -> JSONTemplate {
    switch self {
    case .value: return self
    case .text(let one): return .text(try text(one))
    case .list(let items):
      var mapped: [JSONTemplate] = []
      for item in items { mapped.append(try item.map(text)) }
      return .list(mapped)
    case .mapping(let members):
      var mapped: [Member] = []
      for member in members { mapped.append(Member(member.name, try member.value.map(text))) }
      return .mapping(mapped)
    }
  }

  package var texts: [InterpolatedText] {
    switch self {
    case .value: []
    case .text(let one): [one]
    case .list(let items): items.flatMap(\.texts)
    case .mapping(let members): members.flatMap(\.value.texts)
    }
  }
}
