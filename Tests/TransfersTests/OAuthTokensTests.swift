import Endpoints
import JobModel
import Synchronization
import Testing

@testable import HTTPClient

/// One access token for all, asked for as seldom as it can be.
struct OAuthTokensTests {
  /// A token endpoint, a clock, and what was kept.
  private final class Service: Sendable {
    let now = Mutex(1000.0)
    let kept = Mutex<[String: String]>([:])
    let remarks = Mutex<[String]>([])
    let transport: ScriptedTransport

    init(_ response: @escaping @Sendable (Sent) -> Reply) { transport = ScriptedTransport(response) }

    /// Another process's.
    func tokens(configured: String = "configured") -> OAuthTokens {
      OAuthTokens(
        transport: transport, clock: EngineClock(now: { self.now.withLock { $0 } }, random: { 0.5 }),
        secrets: SecretSource { _ in Secret(configured) }, mask: SecretMask(),
        kept: TokenKeeping(
          read: { key in self.kept.withLock { $0[key] }.map { Secret($0) } },
          write: { key, token in self.kept.withLock { $0[key] = token.reveal() } }),
        remark: { diagnostic in self.remarks.withLock { $0.append(diagnostic.message) } })
    }

    /// What was asked with.
    var forms: [String] { transport.sent.map { String(decoding: $0.body, as: UTF8.self) } }
  }

  private static let plain = OAuth2(grant: .clientCredentials, tokenURL: "http://h/token", clientID: "c")
  private static let refreshing = OAuth2(
    grant: .refreshToken, tokenURL: "http://h/token", refreshToken: .environment("R"))
  private let endpoint = Endpoint(name: "e", driver: HTTPDriver(), url: "http://h")

  private static func granted(_ sent: Sent, _ more: String = "") -> Reply {
    .status(200, [:], #"{"access_token":"t\#(sent.number)","expires_in":100\#(more)}"#)
  }

  private func ask(_ tokens: OAuthTokens, _ grant: OAuth2 = plain) async throws -> String {
    try await tokens.token(grant, for: endpoint, policy: EffectivePolicy()).reveal()
  }

  @Test func oneRequestServesAllUntilItsTokenIsNearItsEnd() async throws {
    let service = Service { Self.granted($0) }
    let tokens = service.tokens()
    try await withThrowingTaskGroup(of: String.self) { group in
      for _ in 0..<8 { group.addTask { try await ask(tokens) } }
      for try await token in group { #expect(token == "t1") }
    }
    // A fifth of its life before the end.
    service.now.withLock { $0 = 1079 }
    #expect(try await ask(tokens) == "t1")
    service.now.withLock { $0 = 1080 }
    #expect(try await ask(tokens) == "t2")
    await tokens.forget(Self.plain)
    #expect(try await ask(tokens) == "t3" && service.transport.sent.count == 3)
  }

  @Test func aRefusalHoldsForAllAWhile() async throws {
    let service = Service { _ in .status(401, [:], #"{"error":"invalid_client"}"#) }
    let tokens = service.tokens()
    for (time, requests) in [(1000.0, 1), (1059, 1), (1060, 2)] {
      service.now.withLock { $0 = time }
      let failure = await #expect(throws: Failure.self) { _ = try await ask(tokens) }
      #expect(failure?.code == .unauthorized && service.transport.sent.count == requests)
    }
  }

  @Test func aFailureThatPassesIsAskedAgainAtOnce() async throws {
    let service = Service { $0.number == 1 ? .status(503) : Self.granted($0) }
    let tokens = service.tokens()
    await #expect(throws: Failure.self) { _ = try await ask(tokens) }
    #expect(try await ask(tokens) == "t2")
  }

  /// What the service gives in exchange is used from then on, by later processes too; where it is used up, the configured
  /// one is tried.
  @Test func exchangedTokensAreKept() async throws {
    let service = Service { sent in
      let form = String(decoding: sent.body, as: UTF8.self)
      guard !form.contains("used") else { return .status(400, [:], #"{"error":"invalid_grant"}"#) }
      return Self.granted(sent, #","refresh_token":"new\#(sent.number)""#)
    }
    let first = service.tokens()
    #expect(try await ask(first, Self.refreshing) == "t1")
    await first.forget(Self.refreshing)
    #expect(try await ask(first, Self.refreshing) == "t2")
    #expect(try await ask(service.tokens(), Self.refreshing) == "t3")
    for (form, token) in zip(service.forms, ["configured", "new1", "new2"]) {
      #expect(form.contains("refresh_token=\(token)"))
    }
    service.kept.withLock { kept in for key in kept.keys { kept[key] = "used" } }
    #expect(try await ask(service.tokens(), Self.refreshing) == "t5")
    #expect(service.forms.suffix(1).allSatisfy { $0.contains("refresh_token=configured") })
  }

  /// It is a credential for two minutes.
  @Test func anAssertionIsNotRepeated() async throws {
    let service = Service { sent in
      let form = String(decoding: sent.body, as: UTF8.self)
      return .status(400, [:], #"{"error":"invalid_grant","error_description":"it came with \#(form)"}"#)
    }
    let jwt = OAuth2.JWT(issuer: "i", subject: "s", audience: "a", key: .environment("K"))
    let grant = OAuth2(grant: .jwtBearer, tokenURL: "http://h/token", jwt: jwt)
    let failure = await #expect(throws: Failure.self) {
      _ = try await ask(service.tokens(configured: Self.key), grant)
    }
    #expect(service.forms.allSatisfy { $0.contains("assertion=eyJ") })
    let message = failure?.message ?? ""
    #expect(message.contains("assertion=***;") && !message.contains("eyJ"), "\(message)")
  }

  /// Made for this test alone.
  private static let key = """
    -----BEGIN RSA PRIVATE KEY-----
    MIICXAIBAAKBgQCbQJ3bQ7OPyRW0leIkvYqPy4KPwXoVqSWrR73DpeBKkx5QsE0q
    CYUCqJoxQLhV9lL8A4jdBE9kY6Az6SIAttIPydLvkhycQ/7DEGbvyuRSbNDUvF/S
    BmNoUIfvCLX2aHff7qbOrELDFWicEhlyHxUOUT27TYKx9f9qI3xgQ70o/QIDAQAB
    AoGAdAyM8sVch3IsA1y2Ofhkhq/83DAnbeGOAsYRlxl62sO1uWLPi0iqYB5fg8l5
    AOirhy2tNGhwX/4IVkVB4X7G7VRG7ftnLnzKkst+kQElbk5/R4p3eKcs4RyIrDPA
    0ly/gFwxCtwN0t0d5fndnX730TtEZnYgh3FXsAc0Mj+jVBECQQDIrBoiCcIey18F
    253sJWkez/0yDOhBExduoxIP0Q6264BSymNRenbtG2LjR+rrwDWeARRmxh/Zbyeo
    +r47gpenAkEAxg6tyxm4KDSK6PzXgUZ916RLGrTj93537AXNdb4udpItwbAxgpQL
    opoBT2iTvUOUWhOm6LTu0+4LbPXDSjDOuwJAY+JuW5T53/Qgxzyqnbl9Wo3ynLAa
    BxImrrZSrjbEGT6dsBf3Wb4YZiskjLbmcxRIW+5zpjhl8AfI+O5eNCbrrwJAKqEa
    My7z/mNgyskxMXgUugd4yuTIdIraEQkmsgMfSRIpmxjrbymiX3s6cPcXZZNYKRM1
    x7y58w+3kdpMEHn05QJBAKwTv605HmATtyPavqso7uk/iHh4yXUWi3jbVercpCSA
    m7I2jgOf6CYAaRN3h0wJwZ23GFvM+CHg+kCKJXvIXas=
    -----END RSA PRIVATE KEY-----
    """

  @Test func tokensForAnotherInstanceAreSaid() async throws {
    let service = Service { Self.granted($0, #","instance_url":"http://other""#) }
    _ = try await ask(service.tokens())
    #expect(service.remarks.withLock { $0.count } == 1)
  }
}
