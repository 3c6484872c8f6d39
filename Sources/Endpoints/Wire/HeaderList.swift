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
    fields.removeAll { Self.same($0.name, name) }
  }

  package mutating func removeSecrets() { fields.removeAll { $0.isSecret } }

  /// The first value of a name, trimmed.
  package subscript(_ name: String) -> String? {
    fields.first { Self.same($0.name, name) }?.value
  }

  /// All values of a name as one list (RFC 9110, 5.3).
  package func combined(_ name: String) -> String? {
    let values = fields.filter { Self.same($0.name, name) }.map(\.value)
    return values.isEmpty ? nil : values.joined(separator: ", ")
  }

  /// Names are ASCII (RFC 9110, 5.6.2), and asked for with every answer: compared by bytes, without new texts.
  private static func same(_ one: String, _ other: String) -> Bool {
    guard one.utf8.count == other.utf8.count else { return false }
    var (one, other) = (one, other)
    return one.withUTF8 { one in
      other.withUTF8 { other in
        one.indices.allSatisfy { index in
          let (mine, its) = (one[index], other[index])
          return mine == its || (mine ^ its == 0x20 && isLetter(mine))
        }
      }
    }
  }

  private static func isLetter(_ byte: UInt8) -> Bool {
    (UInt8(ascii: "a")...UInt8(ascii: "z")).contains(byte | 0x20)
  }
}
