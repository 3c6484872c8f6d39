package import JobModel

/// What a token endpoint is sent for each grant (RFC 6749, 4.4 and 6; RFC 7523, 2.1): a form, with the client's
/// credentials in it (RFC 6749, 2.3.1).
package enum TokenRequest {
  /// The secrets of a grant, resolved.
  package struct Secrets: Sendable {
    package var clientSecret: Secret?
    package var refreshToken: Secret?
    /// The signed JWT of `jwt_bearer`.
    package var assertion: Secret?
    package init(clientSecret: Secret? = nil, refreshToken: Secret? = nil, assertion: Secret? = nil) {
      self.clientSecret = clientSecret
      self.refreshToken = refreshToken
      self.assertion = assertion
    }
  }

  package static let method = "POST"

  /// - Parameter url: the grant's `token_url`.
  package static func of(_ grant: OAuth2, _ url: WebURL, _ secrets: Secrets) -> Request {
    var fields: [(String, String?)]
    switch grant.grant {
    case .clientCredentials: fields = [("grant_type", "client_credentials")]
    case .refreshToken:
      fields = [("grant_type", "refresh_token"), ("refresh_token", secrets.refreshToken?.reveal())]
    case .jwtBearer:
      fields = [
        ("grant_type", "urn:ietf:params:oauth:grant-type:jwt-bearer"),
        ("assertion", secrets.assertion?.reveal()),
      ]
    }
    fields += [
      ("client_id", grant.clientID), ("client_secret", secrets.clientSecret?.reveal()),
      ("scope", grant.scope),
    ]
    let form = fields.compactMap { name, value in
      value.map { "\(name)=\(WebURL.encode($0, keepingSlash: false))" }
    }
    return Request(
      method, url,
      headers: ["Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"],
      body: .bytes(Array(form.joined(separator: "&").utf8)), isAuthorised: false)
  }
}
