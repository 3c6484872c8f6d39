import JobModel

/// A server that is not asked as freely as the policies let, as the run under way found it.
package struct HostStanding: Sendable, Hashable {
  /// Scheme, host and port.
  package var host: String
  /// The event's word: `opened`, `slowed`, `no_network`, …
  package var change: String
  package var reason: String
  /// Seconds since 1970.
  package var since: Double
  /// When it is asked again, seconds since 1970; nil where no time is set.
  package var until: Double?

  package init(host: String, change: String, reason: String, since: Double, until: Double? = nil) {
    self.host = host
    self.change = change
    self.reason = reason
    self.since = since
    self.until = until
  }

  static func write(_ hosts: [HostStanding]) -> JSON {
    [
      "hosts": .array(
        hosts.map {
          [
            "host": .string($0.host), "change": .string($0.change), "reason": .string($0.reason),
            "since": .exact($0.since), "until": $0.until.map { .exact($0) } ?? .null,
          ]
        })
    ]
  }
}

extension JobLedger {
  package func hosts() throws -> [HostStanding] {
    guard let text = try meta("hosts") else { return [] }
    return (JSONText(text).objects("hosts") ?? []).map {
      HostStanding(
        host: $0.string("host") ?? "", change: $0.string("change") ?? "", reason: $0.string("reason") ?? "",
        since: $0.double("since") ?? 0, until: $0.double("until"))
    }
  }
}
