import CPosix
import Endpoints
package import JobModel

/// What is known of this machine's network, asked whenever it matters.
package struct NetworkState: Sendable {
  /// Whether an interface is there, up, and has a carrier.
  package var isUp: @Sendable (String) -> Bool
  /// Whether the connection costs by the byte; nil where nobody knows.
  package var isMetered: @Sendable () -> Bool?
  /// Whether there is any network but this machine itself.
  package var isThere: @Sendable () -> Bool

  package init(
    isUp: @escaping @Sendable (String) -> Bool, isMetered: @escaping @Sendable () -> Bool?,
    isThere: @escaping @Sendable () -> Bool
  ) {
    self.isUp = isUp
    self.isMetered = isMetered
    self.isThere = isThere
  }

  /// What the kernel says.
  package static func system(isMetered: @escaping @Sendable () -> Bool?) -> NetworkState {
    NetworkState(
      isUp: { haul_interface_is_up($0) == 1 }, isMetered: isMetered, isThere: { haul_has_network() == 1 })
  }

  /// Whether this machine has a network for an origin: its own services need none.
  package func reaches(_ origin: String) -> Bool {
    guard let host = WebURL(endpoint: origin)?.host else { return isThere() }
    let isOwn =
      IPAddress(host).map { (try? AddressBlock("loopback"))?.contains($0) ?? false }
      ?? (host == "localhost" || host.hasSuffix(".localhost"))
    return isOwn || isThere()
  }

  /// What holds a policy's transfers up now; nil where nothing does.
  package func hold(_ policy: EffectivePolicy) -> TransferState.PauseReason? {
    if let interface = policy.interface, !isUp(interface) { return .interface }
    if policy.metered == .pause, isMetered() == true { return .metered }
    return nil
  }

  /// What such a hold says to a user; nil for holds that the network has no part in.
  package func message(_ reason: TransferState.PauseReason, _ policy: EffectivePolicy) -> String? {
    switch reason {
    case .interface:
      "the interface `\(policy.interface ?? "")` is down or missing: its transfers wait for it"
    case .metered: "the connection is metered: transfers under `metered: pause` wait for another"
    case .retries, .interrupted, .user, .window, .deadline, .budget, .disk: nil
    }
  }

  /// Whether anything could ever hold the policy's transfers up.
  package static func mayHold(_ policy: EffectivePolicy) -> Bool {
    policy.interface != nil || policy.metered == .pause
  }
}
