package import JobModel

/// The JSON Web Token of a `jwt_bearer` grant (RFC 7519; RFC 7515 for its form; RFC 7523, 3, for its claims).
package enum JWTClaims {
  /// Seconds that an assertion is good for: services allow three minutes, and clocks differ.
  package static let lifetime = 120.0

  /// Header and claims as they are signed with RS256; the signature's Base64 follows behind a dot.
  package static func signingInput(_ jwt: OAuth2.JWT, now: Double) -> String {
    let header: JSON = ["alg": "RS256", "typ": "JWT"]
    let issued = Int64(now)
    let claims: JSON = [
      "iss": .string(jwt.issuer), "sub": .string(jwt.subject), "aud": .string(jwt.audience),
      "iat": .integer(issued), "exp": .integer(issued + Int64(lifetime)),
    ]
    return "\(encode(Array(header.text.utf8))).\(encode(Array(claims.text.utf8)))"
  }

  /// Base64 for URLs, without padding (RFC 4648, 5).
  package static func encode(_ bytes: [UInt8]) -> String {
    String(
      Base64.encode(bytes).compactMap { character in
        switch character {
        case "+": "-"
        case "/": "_"
        case "=": nil
        default: character
        }
      })
  }
}
