internal import JobModel
internal import ManifestFields
internal import YAML

/// `limits`: caps on all policies of the job together, written as a policy writes its own.
enum JobLimitsRule {
  private static let shape = KeyShape(name: KeyShape.limitsName, keys: keys.names)
  private static let range = 1...10_000

  static func read(_ top: Fields) -> JobLimits {
    var limits = JobLimits()
    if let fields = top.fields("limits", shape) { keys.read(fields, into: &limits) }
    return limits
  }

  static let keys: KeyTable<JobLimits> = [
    .limit("transfers", range, \.transfers).described("Transfers in flight"),
    connections,
    BandwidthRule.key {
      $0.downloadRate = $1; $0.uploadRate = $2
    },
    CalendarRule.budget(\.budget),
  ]

  /// A number caps the requests to all hosts.
  private static let connections = KeyTable<JobLimits>.Key.own(
    "connections", parts: counts.names,
    schema: ["anyOf": .array([KeySchema.limit(range), counts.schema])]
  ) { parent, limits in
    guard parent.node("connections")?.mapping != nil else {
      limits.connectionsTotal = parent.limit("connections", range)
      return
    }
    guard let fields = parent.fields("connections", KeyShape(name: "`connections`", keys: counts.names))
    else { return }
    counts.read(fields, into: &limits)
  }.described("Requests in flight")

  private static let counts: KeyTable<JobLimits> = [
    .limit("total", range, \.connectionsTotal), .limit("per_host", range, \.connectionsPerHost),
  ]
}
