/// Header fields in order; names compare without case (RFC 9110, 5.1).
package struct HeaderList: Sendable, Hashable, ExpressibleByDictionaryLiteral {
  package struct Field: Sendable, Hashable {
    package var name: String
    package var value: String
    /// Holds a secret: never goes to another origin, never into a log.
    package var isSecret: Bool
  }
  package private(set) var fields: [Field] = []

  package init() {}
  package init(dictionaryLiteral elements: (String, String)...) {
    for (name, value) in elements { append(name, value) }
  }

  package mutating func append(_ name: String, _ value: String, isSecret: Bool = false) {
    fields.append(Field(name: name, value: value, isSecret: isSecret))
  }

  package mutating func set(_ name: String, _ value: String, isSecret: Bool = false) {
    remove(name)
    append(name, value, isSecret: isSecret)
  }

  package mutating func remove(_ name: String) {
    let lowered = name.lowercased()
    fields.removeAll { $0.name.lowercased() == lowered }
  }

  package mutating func removeSecrets() { fields.removeAll { $0.isSecret } }

  /// The first value of a name, trimmed.
  package subscript(_ name: String) -> String? {
    let lowered = name.lowercased()
    return fields.first { $0.name.lowercased() == lowered }?.value
  }

  /// All values of a name as one list (RFC 9110, 5.3).
  package func combined(_ name: String) -> String? {
    let lowered = name.lowercased()
    let values = fields.filter { $0.name.lowercased() == lowered }.map(\.value)
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }
}
