import JobModel

/// Texts and JSON values that say what is known only later, as the ledger keeps them.
enum TemplateJSON {
  /// A list of its parts: a literal is a text.
  static func write(_ text: InterpolatedText) -> JSON {
    .array(
      text.parts.map { part in
        switch part {
        case .literal(let literal): .string(literal)
        case .reference(let reference):
          [
            "name": .string(reference.name.text),
            "filters": .array(reference.filters.map(filter)),
          ]
        }
      })
  }

  static func readText(_ json: JSON) -> InterpolatedText? {
    guard let parts = json.array else { return nil }
    let read = parts.compactMap { part -> InterpolatedText.Part? in
      if let literal = part.string { return .literal(literal) }
      guard let text = part["name"].string, let name = try? InterpolationParser.name(text) else { return nil }
      let filters = (part["filters"].array ?? []).compactMap(readFilter)
      return .reference(.init(name: name, filters: filters))
    }
    return read.count == parts.count ? InterpolatedText(parts: read) : nil
  }

  static func write(_ header: ExtraHeader<InterpolatedText>) -> JSON {
    switch header.value {
    case .text(let text): ["name": .string(header.name), "text": write(text)]
    case .secret(let secret): ["name": .string(header.name), "secret": PolicyJSON.reference(secret)]
    }
  }

  static func readHeader(_ json: JSON) -> ExtraHeader<InterpolatedText>? {
    guard let name = json["name"].string else { return nil }
    if let text = readText(json["text"]) { return .init(name: name, value: .text(text)) }
    return readSecret(json["secret"]).map { .init(name: name, value: .secret($0)) }
  }

  static func readSecret(_ json: JSON) -> SecretReference? {
    json.members == nil ? nil : PolicyJSON.readReference(JSONText(json.text))
  }

  private static func filter(_ filter: InterpolatedText.Filter) -> JSON {
    switch filter {
    case .url: "url"
    case .basename: "basename"
    case .fallback(let text): ["default": .string(text)]
    }
  }

  private static func readFilter(_ json: JSON) -> InterpolatedText.Filter? {
    switch json.string {
    case "url": .url
    case "basename": .basename
    default: json["default"].string.map { .fallback($0) }
    }
  }

  /// An object of one member, which says what it is. A manifest's `json` is nested 16 levels deep at most: this is read
  /// back with two for each.
  static func write(_ body: JSONTemplate) -> JSON {
    switch body {
    case .value(let json): ["value": json]
    case .text(let one): ["text": write(one)]
    case .list(let items): ["list": .array(items.map { write($0) })]
    case .mapping(let members):
      [
        "names": .array(members.map { .string($0.name) }),
        "values": .array(members.map { write($0.value) }),
      ]
    }
  }

  static func readBody(_ json: JSON) -> JSONTemplate? {
    guard let first = json.members?.first else { return nil }
    switch first.name {
    case "value": return .value(first.value)
    case "text": return readText(first.value).map { .text($0) }
    case "list":
      let items = (first.value.array ?? []).compactMap(readBody)
      return items.count == first.value.array?.count ? .list(items) : nil
    case "names":
      let values = (json["values"].array ?? []).compactMap(readBody)
      guard let names = first.value.strings, names.count == values.count else { return nil }
      return .mapping(zip(names, values).map { JSONTemplate.Member($0, $1) })
    default: return nil
    }
  }
}
