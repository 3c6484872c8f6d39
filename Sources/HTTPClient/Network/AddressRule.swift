import Curl
import Endpoints
import JobModel

/// What a policy says about the addresses that are connected to.
struct AddressRule: Sendable {
  private let denied: [AddressBlock]
  private let family: IPFamily

  /// - Throws: `Failure` where a range can't be read: what can't be judged is not passed over.
  init(_ policy: EffectivePolicy) throws {
    do {
      denied = try policy.deniedAddresses.map { text throws(ValueFault) in try AddressBlock(text) }
    } catch {
      throw Failure(.policyDenied, "`addresses.deny` can't be read: \(error)")
    }
    family = policy.ip
  }

  /// Nil where every address will do.
  func admission(for request: WireRequest) -> CurlAdmission? {
    guard !denied.isEmpty || family != .any else { return nil }
    let (host, policy) = (request.url.host, request.policy)
    return CurlAdmission(rule: policy.deniedAddresses + [family.rawValue]) { peer in
      guard let address = IPAddress(bytes: peer.address), let objection = objection(to: address) else {
        return
      }
      let place = "\(request.method) \(request.url)"
      let name = IPAddress(host) == address ? "" : " of `\(host)`"
      throw Failure(
        .policyDenied, "\(place): the address \(address)\(name) is \(objection); nothing was sent")
    }
  }

  func objection(to address: IPAddress) -> String? {
    if let block = denied.first(where: { $0.contains(address) }) {
      return "denied by `addresses.deny: \(block.text)`"
    }
    switch (family, address.bytes.count) {
    case (.v4, 16): return "no IPv4 address, which `ip: 4` demands"
    case (.v6, 4): return "no IPv6 address, which `ip: 6` demands"
    case (.any, _), (.v4, _), (.v6, _): return nil
    }
  }
}
