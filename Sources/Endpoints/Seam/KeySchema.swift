internal import JobModel

/// What the manifest's schema says of a value, by its type. `${…}` may stand for any part of a text.
enum KeySchema {
  private static let scalar: JSON = ["string", "number", "boolean"].asJSON
  private static let reference: JSON = ["type": "string", "pattern": #"\$\{"#]

  static let text: JSON = ["type": scalar, "minLength": .integer(1)]
  static let header: JSON = ["type": scalar, "pattern": #"^[^\u0000-\u0008\u000A-\u001F\u007F]*$"#]
  static let size: JSON = ["$ref": "#/$defs/size"]
  static let secret: JSON = ["$ref": "#/$defs/secret"]
  /// What `URLRule.base` takes.
  static let url = matching(#"^[Hh][Tt][Tt][Pp][Ss]?://[^\s\\@/?#]+(/[^\s\\?#]*)?$"#)

  /// - Parameter names: a pattern of the names; nil where any may stand.
  static func texts(_ names: String?) -> JSON {
    let values: [JSON.Member] = [.init("type", "object"), .init("additionalProperties", ["type": scalar])]
    return .object(values + (names.map { [.init("propertyNames", ["pattern": .string($0)])] } ?? []))
  }

  static func choice(_ words: [String]) -> JSON {
    ["anyOf": .array([["enum": words.asJSON], reference])]
  }

  static func integer(_ range: ClosedRange<Int>) -> JSON {
    [
      "anyOf": .array([
        ["type": "integer", "minimum": .int(range.lowerBound), "maximum": .int(range.upperBound)],
        ["type": "string", "pattern": "^[0-9]+$"], reference,
      ])
    ]
  }

  static func matching(_ pattern: String) -> JSON {
    ["anyOf": .array([["type": "string", "pattern": .string(pattern)], reference])]
  }
}

extension [String] {
  var asJSON: JSON { .array(map { .string($0) }) }
}
