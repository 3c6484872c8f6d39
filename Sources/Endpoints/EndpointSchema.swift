package import JobModel
internal import ManifestFields

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
    return [
      "if": ["properties": ["type": type], "required": ["type"].asJSON],
      "then": KeySchema.mapping([.init("type", type)] + common + keys.properties, required: requiredKeys),
    ]
  }

  /// `KeyShape.endpointCommon` but `type`.
  private static var common: [JSON.Member] {
    let auth: JSON = KeySchema.shared("auth")
    let unsigned: JSON = ["not": ["type": "object", "required": ["aws"].asJSON]]
    return [
      .init("url", KeySchema.url),
      .init("auth", Self().signer == nil ? ["allOf": .array([auth, unsigned])] : auth),
      .init("policy", ["anyOf": .array([["type": "string"], KeySchema.shared("policy")])]),
      .init("headers", KeySchema.shared("headers")), .init("tls", KeySchema.shared("tls")),
    ]
  }
}
