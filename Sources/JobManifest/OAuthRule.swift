internal import JobModel
internal import ManifestFields

/// `auth.oauth2`: what each grant needs (RFC 6749, RFC 7523).
enum OAuthRule {
  private static let shape = KeyShape(
    name: "`oauth2`",
    keys: ["grant", "token_url", "client_id", "client_secret", "refresh_token", "scope", "jwt"])
  private static let jwtShape = KeyShape(
    name: "`jwt`", keys: ["issuer", "subject", "audience", "key"])

  static func read(_ parent: Fields) -> OAuth2? {
    guard let fields = parent.fields("oauth2", shape) else { return nil }
    fields.require("grant", "token_url")
    let grant: OAuth2.Grant? = fields.choice("grant")
    let url = fields.value("token_url", allowed: [], URLRule.absolute)
    let secret = SecretRule.read("client_secret", in: fields)
    let refresh = SecretRule.read("refresh_token", in: fields)
    let identifier = fields.text("client_id", allowed: [])
    let scope = fields.text("scope", allowed: [])
    let jwt = fields.has("jwt") ? jwt(fields) : nil
    guard let grant else { return nil }
    switch grant {
    case .clientCredentials: fields.require("client_id", "client_secret")
    case .refreshToken: fields.require("client_id", "refresh_token")
    case .jwtBearer: fields.require("jwt")
    }
    guard let url else { return nil }
    return OAuth2(
      grant: grant, tokenURL: url, clientID: identifier, clientSecret: secret, refreshToken: refresh,
      scope: scope, jwt: jwt)
  }

  private static func jwt(_ parent: Fields) -> OAuth2.JWT? {
    guard let fields = parent.fields("jwt", jwtShape) else { return nil }
    fields.require("issuer", "subject", "audience", "key")
    let issuer = fields.text("issuer", allowed: [])
    let subject = fields.text("subject", allowed: [])
    let audience = fields.text("audience", allowed: [])
    let key = SecretRule.read("key", in: fields)
    guard let issuer, let subject, let audience, let key else { return nil }
    return OAuth2.JWT(issuer: issuer, subject: subject, audience: audience, key: key)
  }
}
