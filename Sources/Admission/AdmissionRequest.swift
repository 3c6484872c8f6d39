package import JobModel

/// A request that asks to be sent.
package struct AdmissionRequest: Sendable {
  /// Whose `connections` count it: those of a group of transfers, or of all without a transfer under one policy.
  enum Share: Hashable, Sendable {
    case group(Int)
    case policy(EffectivePolicy)
  }

  /// An origin: scheme, host and port.
  package let host: String
  let sharedPolicy: CopyOnWrite<EffectivePolicy>
  package var policy: EffectivePolicy { _read { yield sharedPolicy.wrappedValue } }
  /// Nil where no transfer asks, as for listings and tokens.
  package let transfer: TransferPermit?
  /// The rate limits that its bodies stand under.
  package let limits: [RateLimit]
  /// What it does with the permit of its transfer.
  var use: TransferPermits.Use?

  package init(
    _ host: String, _ policy: EffectivePolicy, _ transfer: TransferPermit? = nil, limits: [RateLimit] = []
  ) {
    self.init(host, sharing: CopyOnWrite(wrappedValue: policy), transfer, limits: limits)
  }

  package init(
    _ host: String, sharing policy: CopyOnWrite<EffectivePolicy>, _ transfer: TransferPermit?,
    limits: [RateLimit]
  ) {
    self.limits = limits
    self.host = host
    sharedPolicy = policy
    self.transfer = transfer
  }

  /// Those who ask alike: where one has no room, none has.
  struct Line: Hashable, Sendable {
    let host: String
    let share: Share
    let perHost: FlightLimit
    let total: FlightLimit
  }

  var line: Line {
    Line(host: host, share: share, perHost: policy.connectionsPerHost, total: policy.connectionsTotal)
  }

  var share: Share { transfer.map { .group($0.group) } ?? .policy(policy) }
}

/// A request that was admitted. Not a structure, as it is handed on often.
package final class RequestPermit: Sendable {
  package let id: Int
  package let request: AdmissionRequest
  package let begun: Double
  /// The host has yet to show that it takes so many at a time.
  let isTrial: Bool

  init(_ id: Int, _ request: AdmissionRequest, begun: Double, isTrial: Bool) {
    self.id = id
    self.request = request
    self.begun = begun
    self.isTrial = isTrial
  }
}
