package import Endpoints
package import JobModel

/// A URL that a policy's `hosts` let a request go to. No request is made without one, and no secret is resolved for a
/// request before it is there.
package struct AdmittedURL: Sendable {
  package let url: WebURL
  package let sharedPolicy: CopyOnWrite<EffectivePolicy>
  @inlinable package var policy: EffectivePolicy { _read { yield sharedPolicy.wrappedValue } }

  /// - Throws: `POLICY_DENIED`.
  package init(_ url: WebURL, for method: String, policy: EffectivePolicy) throws(Failure) {
    try self.init(url, for: method, sharing: CopyOnWrite(wrappedValue: policy))
  }

  /// - Throws: `POLICY_DENIED`.
  package init(
    _ url: WebURL, for method: String, sharing policy: CopyOnWrite<EffectivePolicy>
  ) throws(Failure) {
    if let objection = HostRules(policy.wrappedValue).objection(to: url.host) {
      throw Failure(.policyDenied, "\(method) \(url): \(objection); nothing was sent")
    }
    self.url = url
    sharedPolicy = policy
  }
}
