internal import JobModel
internal import ManifestFields
internal import YAML

/// A policy's mapping, one level of it: what is not written stays nil.
enum PolicyRule {
  static func read(_ node: YAMLNode, path: String, scope: Scope) -> Policy? {
    guard let fields = Fields(node, shape: shape, path: path, scope: scope) else { return nil }
    var policy = Policy()
    keys.read(fields, into: &policy)
    return policy
  }

  private static let shape = KeyShape(name: KeyShape.policyName, keys: keys.names)

  /// This mapping and those below it, each with where it stands.
  static let shapes: [(KeyShape, String)] =
    [(shape, "a policy")]
    + keys.keys.filter { !$0.parts.isEmpty }.map {
      (
        KeyShape(name: "`\($0.name)`", keys: $0.parts),
        "`\($0.name)` of a policy" + ($0.name == "tls" ? " or an endpoint" : "")
      )
    }

  static let keys: KeyTable<Policy> = [
    .limit("transfers", 1...10_000, \.transfers).described("Transfers in flight"),
    .integer("chunks_in_flight", 1...1_000, \.chunksInFlight).described("Chunks in flight per transfer"),
    .part(
      "connections",
      [
        .limit("total", 1...10_000, \.connectionsTotal),
        .limit("per_host", 1...10_000, \.connectionsPerHost),
      ]),
    BandwidthRule.key {
      $0.downloadRate = $1; $0.uploadRate = $2
    },
    CalendarRule.timezone, CalendarRule.schedule, CalendarRule.window,
    .duration("deadline", \.deadline),
    CalendarRule.budget(\.budget), failFast,
    .part(
      "timeouts",
      [
        .duration("connect", \.connectTimeout), .duration("request", \.requestTimeout),
        .duration("stall", \.stallTimeout),
      ]),
    retry,
    .part("disk", [.size("min_free", \.minFree)]),
    NetworkRule.key, TLSRule.key,
    .part(
      "http",
      [
        .choice("version", \.httpVersion), .integer("redirects", 0...100, \.redirects),
        .header("user_agent", \.userAgent),
        .own("headers", schema: KeySchema.shared("headers")) { fields, policy in
          guard fields.has("headers") else { return }
          policy.headers = HeaderRule.read(fields, allowed: .settled).compactMap(\.setting)
        },
      ]),
  ]

  private static let failFast = KeyTable<Policy>.Key.part(
    "fail_fast",
    [
      .integer("failures", 1...Int.max, \.failFastFailures),
      .parsed("share", \.failFastShare, schema: shareSchema) { text throws(ValueFault) in
        let isPercent = text.hasSuffix("%")
        guard let number = Units.decimal(isPercent ? text.dropLast() : text[...]),
          number <= (isPercent ? 100 : 1), number > 0
        else { throw ValueFault("`\(text)` is not a share", hint: "like `20%`") }
        return isPercent ? number / 100 : number
      },
    ]
  ) { fields, parent, _ in
    if !fields.has("failures"), !fields.has("share") {
      parent.error("`fail_fast` says neither `failures` nor `share`", at: "fail_fast")
    }
  }.with(
    "anyOf", .array([["required": ["failures"].asJSON], ["required": ["share"].asJSON]]))

  private static let shareSchema = KeySchema.number(0...1, isAbove: true, pattern: #"^[0-9]+(\.[0-9]+)?%?$"#)

  private static let retry = KeyTable<Policy>.Key.part(
    "retry",
    [
      .integer("attempts", 1...1_000_000, \.retryAttempts),
      .duration("initial", \.retryInitial, allowsZero: true),
      .duration("max", \.retryMax, allowsZero: true),
      .parsed("multiplier", \.retryMultiplier, schema: multiplierSchema) { text throws(ValueFault) in
        guard let number = Units.decimal(text), number >= 1, number <= 100 else {
          throw ValueFault("`\(text)` is not a multiplier", hint: "a number of 1 to 100, like `2`")
        }
        return number
      },
      .choice("jitter", \.retryJitter),
    ]
  ) { fields, _, policy in
    if let initial = policy.retryInitial, let longest = policy.retryMax, initial > longest {
      fields.error("`initial` is longer than `max`", at: "initial")
    }
  }

  private static let multiplierSchema = KeySchema.number(1...100, pattern: #"^[0-9]+(\.[0-9]+)?$"#)
}
