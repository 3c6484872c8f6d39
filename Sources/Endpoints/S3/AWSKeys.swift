package import JobModel

/// Keys that sign requests, as some source gave them: a profile, the environment, a command.
package struct AWSKeys: Sendable, Hashable {
  package var accessKeyID: String
  package var secretAccessKey: Secret
  /// Of temporary credentials; goes with each request.
  package var sessionToken: Secret?
  /// Seconds since 1970; nil for keys that last.
  package var expiresAt: Double?
  /// The keys only serve to get those of this role.
  package var role: AWSRole?

  package init(
    accessKeyID: String, secretAccessKey: Secret, sessionToken: Secret? = nil, expiresAt: Double? = nil
  ) {
    self.accessKeyID = accessKeyID
    self.secretAccessKey = secretAccessKey
    self.sessionToken = sessionToken
    self.expiresAt = expiresAt
  }
}
