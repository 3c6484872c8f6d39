internal import JobModel
internal import ManifestFields
internal import YAML

/// A policy's mapping, one level of it: what is not written stays nil.
enum PolicyRule {
  static func read(_ node: YAMLNode, path: String, scope: Scope) -> Policy? {
    guard let fields = Fields(node, shape: .policy, path: path, scope: scope) else { return nil }
    var policy = Policy()
    policy.transfers = fields.integer("transfers", 1...10_000)
    policy.chunksInFlight = fields.integer("chunks_in_flight", 1...1_000)
    policy.deadline = fields.duration("deadline")
    if let rates = BandwidthRule.read(fields) {
      policy.downloadRate = rates.download
      policy.uploadRate = rates.upload
    }
    connections(fields, &policy)
    CalendarRule.read(fields, into: &policy)
    failFast(fields, &policy)
    timeouts(fields, &policy)
    retry(fields, &policy)
    if let disk = fields.fields("disk", .policyPart("disk", ["min_free"])) {
      policy.minFree = disk.size("min_free")
    }
    NetworkRule.read(fields, into: &policy)
    TLSRule.read(fields, into: &policy)
    http(fields, &policy)
    return policy
  }

  private static func connections(_ parent: Fields, _ policy: inout Policy) {
    guard let fields = parent.fields("connections", .policyPart("connections", ["total", "per_host"])) else {
      return
    }
    policy.connectionsTotal = fields.integer("total", 1...10_000)
    policy.connectionsPerHost = fields.integer("per_host", 1...10_000)
  }

  private static func failFast(_ parent: Fields, _ policy: inout Policy) {
    guard let fields = parent.fields("fail_fast", .policyPart("fail_fast", ["failures", "share"])) else {
      return
    }
    policy.failFastFailures = fields.integer("failures", 1...Int.max)
    policy.failFastShare = fields.value("share") { text throws(ValueFault) in
      let isPercent = text.hasSuffix("%")
      guard let number = Units.decimal(isPercent ? text.dropLast() : text[...]),
        number <= (isPercent ? 100 : 1), number > 0
      else { throw ValueFault("`\(text)` is not a share", hint: "like `20%`") }
      return isPercent ? number / 100 : number
    }
    if !fields.has("failures"), !fields.has("share") {
      parent.error("`fail_fast` says neither `failures` nor `share`", at: "fail_fast")
    }
  }

  private static func timeouts(_ parent: Fields, _ policy: inout Policy) {
    guard let fields = parent.fields("timeouts", .policyPart("timeouts", ["connect", "request", "stall"]))
    else { return }
    policy.connectTimeout = fields.duration("connect")
    policy.requestTimeout = fields.duration("request")
    policy.stallTimeout = fields.duration("stall")
  }

  private static func retry(_ parent: Fields, _ policy: inout Policy) {
    let keys = ["attempts", "initial", "max", "multiplier", "jitter"]
    guard let fields = parent.fields("retry", .policyPart("retry", keys)) else { return }
    policy.retryAttempts = fields.integer("attempts", 1...1_000_000)
    policy.retryInitial = fields.duration("initial", allowsZero: true)
    policy.retryMax = fields.duration("max", allowsZero: true)
    policy.retryJitter = fields.choice("jitter")
    policy.retryMultiplier = fields.value("multiplier") { text throws(ValueFault) in
      guard let number = Units.decimal(text), number >= 1, number <= 100 else {
        throw ValueFault("`\(text)` is not a multiplier", hint: "a number of 1 to 100, like `2`")
      }
      return number
    }
    if let initial = policy.retryInitial, let longest = policy.retryMax, initial > longest {
      fields.error("`initial` is longer than `max`", at: "initial")
    }
  }

  private static func http(_ parent: Fields, _ policy: inout Policy) {
    let keys = ["version", "redirects", "user_agent", "headers"]
    guard let fields = parent.fields("http", .policyPart("http", keys)) else { return }
    policy.httpVersion = fields.choice("version")
    policy.redirects = fields.integer("redirects", 0...100)
    policy.userAgent = fields.value("user_agent", HeaderSetting.checked)
    if fields.has("headers") {
      policy.headers = HeaderRule.read(fields, allowed: .settled).compactMap(\.setting)
    }
  }
}
