package import JobModel
internal import ManifestFields

/// The parts of `schemas/job.schema.json` that describe policies and `limits`, made from their key tables, by their names in `$defs`.
package enum PolicySchema {
  package static let definitions: [(name: String, value: JSON)] = [
    ("tls", TLSRule.keys.schema),
    (
      "job_limits",
      JobLimitsRule.keys.schema.with("description", "Caps on all policies of the job together")
    ),
    (
      "policy",
      PolicyRule.keys.schema.with("description", "A network policy; every key is optional and inherited")
    ),
  ]
}
