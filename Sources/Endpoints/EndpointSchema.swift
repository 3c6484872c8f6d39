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
      "then": KeySchema.mapping(
        [.init("type", type)] + common + keys.properties,
        required: requiredKeys + (schemes == .sftp ? ["auth"] : [])),
    ]
  }

  /// `KeyShape.endpointCommon` but `type`.
  private static var common: [JSON.Member] {
    let auth: JSON = KeySchema.shared("auth")
    func without(_ form: String) -> JSON { ["not": ["type": "object", "required": [form].asJSON]] }
    let others: [JSON] =
      switch schemes {
      case .sftp: [["type": "object", "required": ["ssh"].asJSON]]
      case .web: (Self().signer == nil ? [without("aws")] : []) + [without("ssh")]
      }
    return [
      .init("url", schemes == .sftp ? KeySchema.sftpURL : KeySchema.url),
      .init("auth", ["allOf": .array([auth] + others)]),
      .init("policy", ["anyOf": .array([["type": "string"], KeySchema.shared("policy")])]),
      .init("headers", KeySchema.shared("headers")), .init("tls", KeySchema.shared("tls")),
    ]
  }
}
