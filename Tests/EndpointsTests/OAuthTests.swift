import Endpoints
import JobModel
import Testing

/// Grants and tokens (RFC 6749, RFC 7523), and the `.netrc` format.
struct OAuthTests {
  private func grant(_ kind: OAuth2.Grant, scope: String? = nil) -> OAuth2 {
    OAuth2(grant: kind, tokenURL: "https://login/token", clientID: "c&1", scope: scope)
  }

  @Test func requests() throws {
    let secrets = TokenRequest.Secrets(
      clientSecret: Secret("s=/ü"), refreshToken: Secret("r+1"), assertion: Secret("a.b.c"))
    for (kind, form) in [
      (
        .clientCredentials,
        "grant_type=client_credentials&client_id=c%261&client_secret=s%3D%2F%C3%BC&scope=a%20b"
      ),
      (
        .refreshToken,
        "grant_type=refresh_token&refresh_token=r%2B1&client_id=c%261&client_secret=s%3D%2F%C3%BC&scope=a%20b"
      ),
      (
        .jwtBearer,
        "grant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Ajwt-bearer&assertion=a.b.c&client_id=c%261&client_secret=s%3D%2F%C3%BC&scope=a%20b"
      ),
    ] as [(OAuth2.Grant, String)] {
      let url = try #require(WebURL("https://login/token"))
      let request = TokenRequest.of(grant(kind, scope: "a b"), url, secrets)
      #expect(request.method == "POST" && request.url.text == "https://login/token" && !request.isAuthorised)
      #expect(request.headers["Content-Type"] == "application/x-www-form-urlencoded")
      #expect(request.body == .bytes(Array(form.utf8)))
    }
  }

  @Test func responses() throws {
    let url = try #require(WebURL("https://login/token"))
    let good =
      #"{"access_token":"t","token_type":"bearer","expires_in":"60","refresh_token":"r","instance_url":"https://o"}"#
    guard
      case .success(let token) = TokenResponse.read(
        Wire.response(200, good, url: url), for: grant(.refreshToken), now: 0)
    else { throw Wire.Unexpected(what: "not read") }
    #expect(token.accessToken.reveal() == "t" && token.lifetime == 60 && token.refreshToken?.reveal() == "r")
    #expect(token.instance?.origin == "https://o" && "\(token)".contains("***"))
    for (status, body, code, words) in [
      (
        400, #"{"error":"invalid_grant","error_description":"expired access/refresh token"}"#,
        ErrorCode.unauthorized, "expired access/refresh token"
      ),
      (401, #"{"error":"invalid_client"}"#, .unauthorized, "check `client_id`"),
      (503, "busy", .serverError, "503"),
      (503, #"{"error":"temporarily_unavailable"}"#, .serverError, "temporarily"),
      (200, "{}", .unauthorized, "no `access_token`"), (200, "<html>", .unauthorized, "no `access_token`"),
      (200, #"{"error":"incorrect_client_credentials"}"#, .unauthorized, "`incorrect_client_credentials`"),
      (200, #"{"access_token":"a b"}"#, .unauthorized, "no header can carry"),
      (200, #"{"access_token":"a","token_type":"mac"}"#, .unauthorized, "mac"),
      (302, "", .unauthorized, "redirects"), (404, "", .unauthorized, "404"),
      (403, "no", .unauthorized, "403"),
      (408, "", .serverError, "408"), (429, "", .rateLimited, "429"),
    ] {
      let verdict = TokenResponse.read(
        Wire.response(status, body, url: url), for: grant(.refreshToken), now: 0)
      #expect(Wire.code(verdict) == code, "\(status) \(body)")
      if case .failure(let failure) = verdict {
        #expect(failure.message.contains(words), "\(failure.message)")
      }
    }
  }

  @Test func claims() throws {
    let jwt = OAuth2.JWT(issuer: "i", subject: "s", audience: "https://a", key: .environment("K"))
    let parts = JWTClaims.signingInput(jwt, now: 1000.9).split(separator: ".").map { part -> String in
      let padded = String(part).replacing("-", with: "+").replacing("_", with: "/")
      let whole = padded + String(repeating: "=", count: (4 - padded.count % 4) % 4)
      return String(decoding: Base64.decode(whole) ?? [], as: UTF8.self)
    }
    #expect(
      parts == [
        #"{"alg":"RS256","typ":"JWT"}"#, #"{"iss":"i","sub":"s","aud":"https://a","iat":1000,"exp":1120}"#,
      ])
    #expect(JWTClaims.encode([0xFB, 0xFF, 0xFE, 0x01]) == "-__-AQ")
  }

  @Test func netrc() {
    let file = NetrcFile(
      """
      # machine h login no
      machine h login me password pw
      machine H2
        account x login "a \\"b\\"" # not a comment in the line
        password p#1
      macdef init
      machine fake login x password y

      machine half login alone
      default login any password one
      """)
    for (host, login, password) in [
      ("h", "me", "pw"), ("H", "me", "pw"), ("h2", "a \"b\"", "p#1"), ("fake", "any", "one"),
      ("half", "alone", nil),
      ("other", "any", "one"),
    ] as [(String, String, String?)] {
      let entry = file.entry(for: host)
      #expect(entry?.login == login && entry?.password == password, "\(host)")
    }
    #expect(NetrcFile("machine a login b password c").entry(for: "x") == nil)
    #expect(NetrcFile("").entry(for: "x") == nil)
  }
}
