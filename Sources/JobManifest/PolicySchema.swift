package import JobModel
internal import ManifestFields

/// The parts of `schemas/job.schema.json` that describe a policy, made from its key tables, by their names in `$defs`.
package enum PolicySchema {
  package static let definitions: [(name: String, value: JSON)] = [
    ("tls", TLSRule.keys.schema),
    (
      "policy",
      PolicyRule.keys.schema.with("description", "A network policy; every key is optional and inherited")
    ),
  ]
}
