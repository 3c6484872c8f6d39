package import JobModel

/// An effective policy as JSON, with the manifest's own key names: in profiles and in the report.
package enum PolicyJSON {
  /// - Parameters:
  ///   - found: what `connections: auto` came to, by origin.
  ///   - jobLimits: what caps all policies of the job together.
  package static func write(
    _ policy: EffectivePolicy, found: [String: Int] = [:], jobLimits: JobLimits
  ) -> JSON {
    let limits = JobLimitsJSON.write(jobLimits)
    guard let members = write(policy, found: found).members, limits != .null else {
      return write(policy, found: found)
    }
    return .object(members + [.init("job_limits", limits)])
  }

  /// - Parameter found: what `connections: auto` came to, by origin.
  package static func write(_ policy: EffectivePolicy, found: [String: Int] = [:]) -> JSON {
    var connections: [JSON.Member] = [
      .init("total", limit(policy.connectionsTotal)), .init("per_host", limit(policy.connectionsPerHost)),
    ]
    if policy.connectionsPerHost == .auto, !found.isEmpty {
      let members = found.sorted { $0.key < $1.key }.map { JSON.Member($0.key, .int($0.value)) }
      connections.append(.init("found", .object(members)))
    }
    let members: [JSON.Member] = [
      .init("transfers", limit(policy.transfers)), .init("chunks_in_flight", .int(policy.chunksInFlight)),
      .init("connections", .object(connections)), .init("bandwidth", bandwidth(policy)),
      .init("timezone", .text(policy.timezone)), .init("schedule", schedule(policy)),
      .init(
        "window",
        .array(policy.window.map { ["days": days($0), "from": .int($0.from), "to": .int($0.to)] })),
      .init("deadline", policy.deadline.map { .exact($0) } ?? .null),
      .init("budget", budget(policy.budget)),
    ]
    let rest: JSON = [
      "fail_fast": [
        "failures": .int(policy.failFastFailures), "share": policy.failFastShare.map { .exact($0) } ?? .null,
      ],
      "timeouts": [
        "connect": .exact(policy.connectTimeout), "request": .exact(policy.requestTimeout),
        "stall": .exact(policy.stallTimeout),
      ],
      "retry": [
        "attempts": .int(policy.retryAttempts), "initial": .exact(policy.retryInitial),
        "max": .exact(policy.retryMax), "multiplier": .exact(policy.retryMultiplier),
        "jitter": .string(policy.retryJitter.rawValue),
      ],
      "disk": ["min_free": .integer(policy.minFree)],
      "network": [
        "metered": .string(policy.metered.rawValue), "interface": .text(policy.interface),
        "hosts": ["allow": strings(policy.allowedHosts), "deny": strings(policy.deniedHosts)],
        "addresses": ["deny": strings(policy.deniedAddresses)], "ip": .string(policy.ip.rawValue),
        "proxy": proxy(policy.proxy),
      ],
      "tls": [
        "min_version": .string(policy.tlsMinVersion.rawValue), "ca_file": .text(policy.caFile),
        "client_cert": .text(policy.clientCertificate), "client_key": .text(policy.clientKey),
        "pinned_keys": strings(policy.pinnedKeys), "insecure": .bool(policy.insecure),
      ],
      "http": [
        "version": .string(policy.httpVersion.rawValue), "redirects": .int(policy.redirects),
        "user_agent": .text(policy.userAgent), "headers": .array(policy.headers.map(header)),
      ],
    ]
    return .object(members + (rest.members ?? []) + undivided(policy))
  }

  /// The whole job's limits, where these are one part's: under the names of those that they were.
  private static func undivided(_ policy: EffectivePolicy) -> [JSON.Member] {
    guard let whole = policy.undivided.limits else { return [] }
    let limits: JSON = [
      "transfers": limit(whole.transfers),
      "connections": ["total": limit(whole.connectionsTotal), "per_host": limit(whole.connectionsPerHost)],
      "bandwidth": bandwidth(whole), "schedule": schedule(whole), "budget": budget(whole.budget),
    ]
    return [.init("undivided", limits)]
  }

  private static func bandwidth(_ policy: EffectivePolicy) -> JSON {
    ["download": rate(policy.downloadRate), "upload": rate(policy.uploadRate)]
  }

  private static func schedule(_ policy: EffectivePolicy) -> JSON {
    .array(
      policy.schedule.map {
        [
          "days": days($0.window), "from": .int($0.window.from), "to": .int($0.window.to),
          "bandwidth": [
            "download": $0.download.map(rate) ?? .null, "upload": $0.upload.map(rate) ?? .null,
          ],
        ]
      })
  }

  static func read(_ json: JSONText) -> EffectivePolicy {
    var policy = EffectivePolicy()
    readLimits(json, into: &policy)
    policy.chunksInFlight = json.int("chunks_in_flight") ?? policy.chunksInFlight
    policy.timezone = json.string("timezone")
    policy.window = (json.objects("window") ?? []).compactMap(window)
    policy.deadline = json.double("deadline")
    policy.failFastFailures = json.object("fail_fast")?.int("failures")
    policy.failFastShare = json.object("fail_fast")?.double("share")
    let timeouts = json.object("timeouts")
    policy.connectTimeout = timeouts?.double("connect") ?? policy.connectTimeout
    policy.requestTimeout = timeouts?.double("request") ?? policy.requestTimeout
    policy.stallTimeout = timeouts?.double("stall") ?? policy.stallTimeout
    let retry = json.object("retry")
    policy.retryAttempts = retry?.int("attempts") ?? policy.retryAttempts
    policy.retryInitial = retry?.double("initial") ?? policy.retryInitial
    policy.retryMax = retry?.double("max") ?? policy.retryMax
    policy.retryMultiplier = retry?.double("multiplier") ?? policy.retryMultiplier
    policy.retryJitter = retry?.string("jitter").flatMap(Jitter.init(rawValue:)) ?? policy.retryJitter
    policy.minFree = json.object("disk")?.int64("min_free") ?? 0
    let network = json.object("network")
    policy.metered = network?.string("metered").flatMap(Metered.init(rawValue:)) ?? .allow
    policy.interface = network?.string("interface")
    policy.allowedHosts = network?.object("hosts")?.strings("allow") ?? []
    policy.deniedHosts = network?.object("hosts")?.strings("deny") ?? []
    policy.deniedAddresses = network?.object("addresses")?.strings("deny") ?? []
    policy.ip = network?.string("ip").flatMap(IPFamily.init(rawValue:)) ?? .any
    switch network?.string("proxy") {
    case "env", nil: policy.proxy = .environment
    case "none": policy.proxy = .none
    case .some(let url): policy.proxy = .url(url)
    }
    if let login = network?.object("proxy"), let url = login.string("url"), let user = login.string("user"),
      let password = login.object("password").flatMap(readReference)
    {
      policy.proxy = .login(url: url, user: user, password: password)
    }
    let tls = json.object("tls")
    policy.tlsMinVersion = tls?.string("min_version").flatMap(TLSVersion.init(rawValue:)) ?? .v1_2
    policy.caFile = tls?.string("ca_file")
    policy.clientCertificate = tls?.string("client_cert")
    policy.clientKey = tls?.string("client_key")
    policy.pinnedKeys = tls?.strings("pinned_keys") ?? []
    policy.insecure = tls?.bool("insecure") ?? false
    let http = json.object("http")
    policy.httpVersion = http?.string("version").flatMap(HTTPVersionSetting.init(rawValue:)) ?? .auto
    policy.redirects = http?.int("redirects") ?? policy.redirects
    policy.userAgent = http?.string("user_agent")
    policy.headers = (http?.objects("headers") ?? []).compactMap(readHeader)
    if let limits = json.object("undivided") {
      var whole = policy
      readLimits(limits, into: &whole)
      policy.undivided = .of(whole)
    }
    return policy
  }

  /// What is divided among a job's parts.
  private static func readLimits(_ json: JSONText, into policy: inout EffectivePolicy) {
    policy.transfers = readLimit(json, "transfers")
    policy.connectionsTotal = readLimit(json.object("connections"), "total")
    policy.connectionsPerHost = readLimit(json.object("connections"), "per_host")
    policy.downloadRate = readRate(json.object("bandwidth"), "download")
    policy.uploadRate = readRate(json.object("bandwidth"), "upload")
    policy.schedule = (json.objects("schedule") ?? []).compactMap { item in
      window(item).map {
        ScheduleEntry(
          window: $0, download: readEntryRate(item.object("bandwidth"), "download"),
          upload: readEntryRate(item.object("bandwidth"), "upload"))
      }
    }
    policy.budget = readBudget(json)
  }

  static func header(_ header: HeaderSetting) -> JSON {
    switch header.value {
    case .text(let text): ["name": .string(header.name), "value": .string(text)]
    case .secret(let secret): ["name": .string(header.name), "secret": reference(secret)]
    }
  }

  static func readHeader(_ json: JSONText) -> HeaderSetting? {
    guard let name = json.string("name") else { return nil }
    if let text = json.string("value") { return HeaderSetting(name: name, value: .text(text)) }
    return json.object("secret").flatMap(readReference).map { HeaderSetting(name: name, value: .secret($0)) }
  }

  static func readReference(_ json: JSONText) -> SecretReference? {
    if let variable = json.string("env") { return .environment(variable) }
    if let file = json.string("file") { return .file(file) }
    return json.strings("command").map { .command($0) }
  }

  static func reference(_ secret: SecretReference) -> JSON {
    switch secret {
    case .environment(let name): ["env": .string(name)]
    case .file(let path): ["file": .string(path)]
    case .command(let words): ["command": strings(words)]
    }
  }

  private static func strings(_ values: [String]) -> JSON { .array(values.map { .string($0) }) }

  static func budget(_ budget: Budget?) -> JSON {
    budget.map { ["bytes": .integer($0.bytes), "per": .string($0.period.rawValue)] } ?? .null
  }

  static func readBudget(_ json: JSONText) -> Budget? {
    guard let budget = json.object("budget"), let bytes = budget.int64("bytes"),
      let period = budget.string("per").flatMap(Budget.Period.init(rawValue:))
    else { return nil }
    return Budget(bytes: bytes, period: period)
  }

  static func limit(_ limit: FlightLimit) -> JSON {
    switch limit {
    case .auto: .string("auto")
    case .number(let number): .int(number)
    }
  }

  private static func readLimit(_ json: JSONText?, _ name: String) -> FlightLimit {
    json?.int(name).map(FlightLimit.number) ?? .auto
  }

  static func rate(_ rate: Rate) -> JSON {
    switch rate {
    case .unlimited: .string("unlimited")
    case .bytesPerSecond(let bytes): .integer(bytes)
    }
  }

  private static func readRate(_ json: JSONText?, _ name: String) -> Rate {
    json?.int64(name).map(Rate.bytesPerSecond) ?? .unlimited
  }

  static func readEntryRate(_ json: JSONText?, _ name: String) -> Rate? {
    json?.string(name) == "unlimited" ? .unlimited : json?.int64(name).map(Rate.bytesPerSecond)
  }

  private static func days(_ window: TimeWindow) -> JSON {
    .array(Weekday.allCases.filter(window.days.contains).map { .string($0.rawValue) })
  }

  private static func window(_ json: JSONText) -> TimeWindow? {
    guard let from = json.int("from"), let to = json.int("to") else { return nil }
    return TimeWindow(
      days: Set((json.strings("days") ?? []).compactMap(Weekday.init(rawValue:))), from: from, to: to)
  }

  private static func proxy(_ proxy: ProxySetting) -> JSON {
    switch proxy {
    case .environment: .string("env")
    case .none: .string("none")
    case .url(let url): .string(url)
    case .login(let url, let user, let password):
      ["url": .string(url), "user": .string(user), "password": reference(password)]
    }
  }
}
