package import JobModel

/// What a token endpoint grants (RFC 6749, 5.1).
package struct TokenResponse: Sendable, Hashable {
  package var accessToken: Secret
  /// Seconds; nil where the service tells none, and only a refusal shows the end (Salesforce).
  package var lifetime: Double?
  /// A new refresh token, where the service exchanges them (RFC 6749, 6).
  package var refreshToken: Secret?
  /// Where the token is good, by Salesforce's word.
  package var instance: WebURL?

  /// Reads an answer; what the service says of a refusal goes into the failure, and no more of its body than that.
  package static func read(_ response: Response, for grant: OAuth2, now: Double) -> Result<
    TokenResponse, Failure
  > {
    let members = response.object
    // GitHub refuses with 200.
    let isRefused = members?["access_token"].string == nil && members?["error"].string?.isEmpty == false
    guard (200...299).contains(response.status), !isRefused else {
      return .failure(refused(response, members, grant, now))
    }
    func violation(_ what: String) -> Result<TokenResponse, Failure> {
      .failure(
        Failure(.unauthorized, "the token endpoint \(response.url) \(what)", httpStatus: response.status))
    }
    guard let members, let token = members["access_token"].string, !token.isEmpty else {
      return violation("granted no `access_token`: check `token_url`")
    }
    guard !token.utf8.contains(where: { $0 <= 0x20 || $0 >= 0x7F }) else {
      return violation("granted a token that no header can carry")
    }
    if let type = members["token_type"].string, type.lowercased() != "bearer" {
      return violation("granted a token of type `\(type.truncated(to: 40))`; haul sends bearer tokens")
    }
    return .success(
      TokenResponse(
        accessToken: Secret(token), lifetime: seconds(members["expires_in"]),
        refreshToken: members["refresh_token"].string.flatMap { $0.isEmpty ? nil : Secret($0) },
        instance: members["instance_url"].string.flatMap { WebURL($0) }))
  }

  /// A number, which some services send as text.
  private static func seconds(_ value: JSON) -> Double? {
    let number = value.double ?? value.string.flatMap { Double($0) }
    return number.flatMap { $0.isFinite && $0 > 0 ? $0 : nil }
  }

  private static func refused(
    _ response: Response, _ members: JSON?, _ grant: OAuth2, _ now: Double
  ) -> Failure {
    let what = "ask for a token (\(grant.grant.rawValue))"
    guard let error = members?["error"].string, !error.isEmpty else {
      var failure = HTTPFailure.of(Response(head: response.head, url: response.url), doing: what, now: now)
      // It says nothing of the file that the token is for, and asking again may lock the account.
      if (300..<500).contains(response.status), ![408, 425, 429].contains(response.status) {
        failure.code = .unauthorized
      }
      // A redirect would send the secrets on: the final address belongs into the manifest.
      if (300...399).contains(response.status) {
        failure.message += ": write the address it redirects to as `token_url`"
      }
      return failure
    }
    let description = members?["error_description"].string.map { ": \($0.truncated(to: 300))" } ?? ""
    var failure = Failure(
      .unauthorized,
      "\(what): \(response.url) refused it with `\(error.truncated(to: 80))`\(description); \(hint(error, grant.grant))",
      httpStatus: response.status)
    if ["temporarily_unavailable", "server_error"].contains(error) || response.status >= 500 {
      failure.code = .serverError
    } else if response.status == 429 {
      failure.code = .rateLimited
    }
    failure.retryAfter = HTTPFailure.retryAfter(response.headers, now: now)
    return failure
  }

  private static func hint(_ error: String, _ grant: OAuth2.Grant) -> String {
    switch (error, grant) {
    case ("invalid_grant", .refreshToken):
      "the refresh token has expired, was revoked, or was exchanged by an earlier run: put a new one where `refresh_token` points"
    case ("invalid_grant", .jwtBearer):
      "check `issuer`, `subject`, `audience` and `key`, that the user has approved the client, and this machine's clock"
    case ("invalid_grant", .clientCredentials):
      "check the client's set-up with the service (a run-as user, its scopes)"
    case ("invalid_client", _), ("invalid_client_id", _), ("unauthorized_client", _):
      "check `client_id`, `client_secret` and that the client may use this grant"
    case ("invalid_scope", _): "check `scope`"
    case ("unsupported_grant_type", _): "the service does not offer this grant: choose another `grant`"
    default: "check the `oauth2` settings of this endpoint"
    }
  }
}
