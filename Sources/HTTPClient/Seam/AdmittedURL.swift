package import Endpoints
package import JobModel

/// A URL that a policy's `hosts` let a request go to. No request is made without one, and no secret is resolved for a
/// request before it is there.
package struct AdmittedURL: Sendable {
  package let url: WebURL
  package let policy: EffectivePolicy

  /// - Throws: `POLICY_DENIED`.
  package init(_ url: WebURL, for method: String, policy: EffectivePolicy) throws(Failure) {
    if let objection = HostRules(policy).objection(to: url.host) {
      throw Failure(.policyDenied, "\(method) \(url): \(objection); nothing was sent")
    }
    self.url = url
    self.policy = policy
  }
}
