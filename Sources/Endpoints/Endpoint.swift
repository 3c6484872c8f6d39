package import JobModel

/// A named remote of the manifest.
package struct Endpoint: Sendable {
  package var name: String
  /// What is of its kind alone.
  package var driver: any EndpointDriver
  /// Absolute http(s) URL, without a trailing slash.
  package var url: String
  package var authentication: Authentication
  /// What the endpoint's own `policy` and `tls` keys say, not yet merged with other levels.
  @CopyOnWrite package var policy: Policy
  package var policyName: String?
  package var headers: [HeaderSetting]
  /// What its own keys say of each object, by their names: values from the environment as they are written.
  package var objectWords: [String: String]

  package init(
    name: String, driver: any EndpointDriver, url: String, authentication: Authentication = .none,
    policy: Policy = Policy(), policyName: String? = nil, headers: [HeaderSetting] = [],
    objectWords: [String: String] = [:]
  ) {
    self.name = name
    self.driver = driver
    self.url = url
    self.authentication = authentication
    self.policy = policy
    self.policyName = policyName
    self.headers = headers
    self.objectWords = objectWords
  }
}
