package import JobModel

/// The part of `schemas/job.schema.json` that describes an endpoint, made from the kinds' key tables.
package enum EndpointSchema {
  package static var definition: JSON {
    [
      "type": "object", "required": ["type", "url"].asJSON,
      "properties": ["type": ["enum": EndpointRegistry.words.asJSON]],
      "allOf": .array(EndpointRegistry.all.map { $0.schema }),
    ]
  }
}

extension EndpointDriver {
  fileprivate static var schema: JSON {
    let type: JSON = ["const": .string(word)]
    let own = keys.keys.map { JSON.Member($0.name, $0.schema) }
    var then: [JSON.Member] = [
      .init("type", "object"), .init("properties", .object([.init("type", type)] + common + own)),
      .init("patternProperties", ["^x-": .bool(true)]), .init("additionalProperties", .bool(false)),
    ]
    if !requiredKeys.isEmpty { then.append(.init("required", requiredKeys.asJSON)) }
    return [
      "if": ["properties": ["type": type], "required": ["type"].asJSON], "then": .object(then),
    ]
  }

  /// `KeyShape.endpointCommon` but `type`.
  private static var common: [JSON.Member] {
    let auth: JSON = ["$ref": "#/$defs/auth"]
    let unsigned: JSON = ["not": ["type": "object", "required": ["aws"].asJSON]]
    return [
      .init("url", KeySchema.url),
      .init("auth", Self().signer == nil ? ["allOf": .array([auth, unsigned])] : auth),
      .init("policy", ["anyOf": .array([["type": "string"], ["$ref": "#/$defs/policy"]])]),
      .init("headers", ["$ref": "#/$defs/headers"]), .init("tls", ["$ref": "#/$defs/tls"]),
    ]
  }
}
