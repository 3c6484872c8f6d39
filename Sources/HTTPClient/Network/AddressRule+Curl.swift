import Curl
import Endpoints
import JobModel

extension AddressRule {
  /// Nil where every address will do.
  func admission(for request: WireRequest) -> CurlAdmission? {
    guard !takesAll else { return nil }
    let (host, policy) = (request.url.host, request.policy)
    return CurlAdmission(rule: policy.deniedAddresses + [policy.ip.rawValue]) { peer in
      try judge(peer.address, of: host, "\(request.method) \(request.url)")
    }
  }
}
