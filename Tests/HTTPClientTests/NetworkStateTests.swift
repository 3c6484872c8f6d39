import Endpoints
import JobModel
import Testing

@testable import HTTPClient

struct NetworkStateTests {
  private func policy(_ interface: String?, pauses: Bool) -> EffectivePolicy {
    var policy = EffectivePolicy()
    policy.interface = interface
    if pauses { policy.metered = .pause }
    return policy
  }

  @Test(arguments: [
    (nil as String?, false, true as Bool?, nil as TransferState.PauseReason?), ("eth0", false, nil, nil),
    ("wg0", false, nil, .interface), (nil, true, true, .metered), (nil, true, false, nil),
    (nil, true, nil, nil),
    ("wg0", true, true, .interface),
  ])
  func holds(
    _ interface: String?, _ pauses: Bool, _ isMetered: Bool?, _ reason: TransferState.PauseReason?
  ) {
    let state = NetworkState(isUp: { $0 == "eth0" }, isMetered: { isMetered }, isThere: { true })
    let policy = policy(interface, pauses: pauses)
    #expect(state.hold(policy) == reason)
    #expect(NetworkState.mayHold(policy) == (interface != nil || pauses))
    if let reason { #expect(state.message(reason, policy) != nil) }
  }

  @Test func hostsAreJudgedBeforeASecretIsAskedFor() throws {
    var policy = EffectivePolicy()
    policy.allowedHosts = ["good"]
    let (good, bad) = (try #require(WebURL("https://good/a")), try #require(WebURL("https://bad/a")))
    #expect(try AdmittedURL(good, for: "GET", policy: policy).url == good)
    let failure = #expect(throws: Failure.self) { try AdmittedURL(bad, for: "PUT", policy: policy) }
    #expect(failure?.code == .policyDenied && failure?.message.contains("nothing was sent") == true)
  }

  @Test(arguments: [
    ("10.1.2.3", ["10.0.0.0/8"], IPFamily.any, true), ("10.1.2.3", ["192.168.0.0/16"], .any, false),
    ("::1", [], .v4, true), ("127.0.0.1", [], .v6, true), ("127.0.0.1", [], .v4, false),
    ("::1", ["::1/128"], .any, true),
  ])
  func addresses(_ address: String, _ denied: [String], _ family: IPFamily, _ isRefused: Bool) throws {
    var policy = EffectivePolicy()
    (policy.deniedAddresses, policy.ip) = (denied, family)
    let rule = try AddressRule(policy)
    #expect((rule.objection(to: try #require(IPAddress(address))) != nil) == isRefused)
  }

  @Test func anUnreadableRangeIsNotPassedOver() {
    var policy = EffectivePolicy()
    policy.deniedAddresses = ["10.0.0.0/99"]
    #expect(throws: Failure.self) { try AddressRule(policy) }
  }
}
