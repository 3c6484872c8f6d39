package import JobModel

/// What the manifest's schema says of a value, by its type. `${…}` may stand for any part of a text.
package enum KeySchema {
  private static let scalar: JSON = ["string", "number", "boolean"].asJSON
  private static let reference: JSON = ["type": "string", "pattern": #"\$\{"#]

  package static let text: JSON = ["type": scalar, "minLength": .integer(1)]
  package static let header: JSON = ["type": scalar, "pattern": #"^[^\u0000-\u0008\u000A-\u001F\u007F]*$"#]
  package static let flag: JSON = [
    "anyOf": .array([["type": "boolean"], ["enum": ["true", "false"].asJSON], reference])
  ]
  /// What `URLRule.base` takes.
  package static let url = matching(#"^[Hh][Tt][Tt][Pp][Ss]?://[^\s\\@/?#]+(/[^\s\\?#]*)?$"#)

  /// The same of endpoints that are reached by SSH.
  package static let sftpURL = matching(#"^[Ss][Ff][Tt][Pp]://[^\s\\@/?#]+(/[^\s\\?#]*)?$"#)

  /// A definition that several keys share.
  package static func shared(_ name: String) -> JSON { ["$ref": .string("#/$defs/" + name)] }

  /// - Parameter names: a pattern of the names; nil where any may stand.
  static func texts(_ names: String?) -> JSON {
    let values: [JSON.Member] = [.init("type", "object"), .init("additionalProperties", ["type": scalar])]
    return .object(values + (names.map { [.init("propertyNames", ["pattern": .string($0)])] } ?? []))
  }

  /// One of these words; one that is a number may be written as one.
  package static func choice(_ words: [String]) -> JSON {
    let numbers = words.compactMap { word in
      Int64(word).map { JSON.integer($0) } ?? Double(word).map { JSON.exact($0) }
    }
    return ["anyOf": .array([["enum": .array(words.map { .string($0) } + numbers)], reference])]
  }

  static func integer(_ range: ClosedRange<Int>) -> JSON {
    ["anyOf": .array(whole(range) + [reference])]
  }

  /// A whole number, or `auto`.
  package static func limit(_ range: ClosedRange<Int>) -> JSON {
    ["anyOf": .array(whole(range) + [["enum": ["auto"].asJSON], reference])]
  }

  private static func whole(_ range: ClosedRange<Int>) -> [JSON] {
    var number: [JSON.Member] = [
      .init("type", "integer"), .init("minimum", .int(range.lowerBound)),
    ]
    if range.upperBound < .max { number.append(.init("maximum", .int(range.upperBound))) }
    return [.object(number), ["type": "string", "pattern": "^[0-9]+$"]]
  }

  package static func matching(_ pattern: String) -> JSON {
    ["anyOf": .array([["type": "string", "pattern": .string(pattern)], reference])]
  }

  /// - Parameter pattern: what a number as a text looks like.
  package static func number(_ range: ClosedRange<Int>, isAbove: Bool = false, pattern: String) -> JSON {
    [
      "anyOf": .array([
        [
          "type": "number", isAbove ? "exclusiveMinimum" : "minimum": .int(range.lowerBound),
          "maximum": .int(range.upperBound),
        ], ["type": "string", "pattern": .string(pattern)], reference,
      ])
    ]
  }

  /// - Parameter allowsOne: a value by itself stands for a list of one.
  package static func list(of item: JSON, allowsOne: Bool = false) -> JSON {
    let list: JSON = ["type": "array", "items": item]
    return allowsOne ? ["anyOf": .array([item, list])] : list
  }

  /// A mapping of these keys; `x-` is the user's own.
  package static func mapping(_ keys: [JSON.Member], required: [String] = []) -> JSON {
    var members: [JSON.Member] = [
      .init("type", "object"), .init("properties", .object(keys)),
      .init("patternProperties", ["^x-": .bool(true)]), .init("additionalProperties", .bool(false)),
    ]
    if !required.isEmpty { members.append(.init("required", required.asJSON)) }
    return .object(members)
  }
}

extension JSON {
  /// The same with another member, of an object.
  package func with(_ name: String, _ value: JSON) -> JSON {
    guard case .object(let members) = self else { return self }
    return .object(members + [Member(name, value)])
  }
}

extension [String] {
  package var asJSON: JSON { .array(map { .string($0) }) }
}
