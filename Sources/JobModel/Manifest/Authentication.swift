/// How an endpoint's requests are authorised (`auth` in the manifest).
package enum Authentication: Sendable, Hashable {
  case none
  case bearer(SecretReference)
  case basic(user: String, password: SecretReference)
  case header(name: String, value: SecretReference)
  case netrc
  case aws(AWSCredentials)
  case oauth2(OAuth2)
  /// For endpoints that are reached by SSH.
  case ssh(SSHAuthentication)
}

/// A user of an SSH server, and by what the login is proved: the agent first, then the key, then the password.
package struct SSHAuthentication: Sendable, Hashable {
  package var user: String
  /// Absolute path of a private key.
  package var keyFile: String?
  package var passphrase: SecretReference?
  package var usesAgent = false
  package var password: SecretReference?

  package init(user: String) { self.user = user }
}

/// A value that is no secret by itself, and may lie where secrets do.
package enum TextOrSecret: Sendable, Hashable {
  case text(String)
  case secret(SecretReference)
}

/// Where S3 credentials come from.
package enum AWSCredentials: Sendable, Hashable {
  case profile(String)
  case keys(accessKeyID: TextOrSecret, secretAccessKey: SecretReference, sessionToken: SecretReference?)
  case environment
  /// `credential_process` JSON on standard output.
  case command([String])
}

/// Where access tokens come from (RFC 6749).
package struct OAuth2: Sendable, Hashable {
  package enum Grant: String, Sendable, Hashable, CaseIterable {
    case clientCredentials = "client_credentials"
    case refreshToken = "refresh_token"
    case jwtBearer = "jwt_bearer"
  }
  /// The claims of an assertion, and the key that signs it (RFC 7523).
  package struct JWT: Sendable, Hashable {
    package var issuer: String
    package var subject: String
    package var audience: String
    package var key: SecretReference
    package init(issuer: String, subject: String, audience: String, key: SecretReference) {
      self.issuer = issuer
      self.subject = subject
      self.audience = audience
      self.key = key
    }
  }
  package var grant: Grant
  package var tokenURL: String
  package var clientID: String?
  package var clientSecret: SecretReference?
  package var refreshToken: SecretReference?
  package var scope: String?
  package var jwt: JWT?
  package init(
    grant: Grant, tokenURL: String, clientID: String? = nil, clientSecret: SecretReference? = nil,
    refreshToken: SecretReference? = nil, scope: String? = nil, jwt: JWT? = nil
  ) {
    self.grant = grant
    self.tokenURL = tokenURL
    self.clientID = clientID
    self.clientSecret = clientSecret
    self.refreshToken = refreshToken
    self.scope = scope
    self.jwt = jwt
  }
}
