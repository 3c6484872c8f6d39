/// What a policy says about the addresses that are connected to.
package struct AddressRule: Sendable {
  private let denied: [AddressBlock]
  private let family: IPFamily
  package var takesAll: Bool { denied.isEmpty && family == .any }

  /// - Throws: `Failure` where a range can't be read: what can't be judged is not passed over.
  package init(_ policy: EffectivePolicy) throws {
    do {
      denied = try policy.deniedAddresses.map { text throws(ValueFault) in try AddressBlock(text) }
    } catch {
      throw Failure(.policyDenied, "`addresses.deny` can't be read: \(error)")
    }
    family = policy.ip
  }

  package func objection(to address: IPAddress) -> String? {
    if let block = denied.first(where: { $0.contains(address) }) {
      return "denied by `addresses.deny: \(block.text)`"
    }
    switch (family, address.bytes.count) {
    case (.v4, 16): return "no IPv4 address, which `ip: 4` demands"
    case (.v6, 4): return "no IPv6 address, which `ip: 6` demands"
    case (.any, _), (.v4, _), (.v6, _): return nil
    }
  }

  /// - Parameters:
  ///   - place: the request, as a message names it.
  ///   - host: as the URL has it.
  /// - Throws: `POLICY_DENIED`.
  package func judge(_ bytes: [UInt8], of host: String, _ place: String) throws {
    guard let address = IPAddress(bytes: bytes), let objection = objection(to: address) else { return }
    let name = IPAddress(host) == address ? "" : " of `\(host)`"
    throw Failure(
      .policyDenied, "\(place): the address \(address)\(name) is \(objection); nothing was sent")
  }
}
