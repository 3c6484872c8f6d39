import Endpoints
import JobModel
import Synchronization
import Testing

@testable import HTTPClient

/// A refused credential is renewed once for each request, and once for all who were refused with it.
struct CredentialRenewalTests {
  /// Counts how often a secret was asked for.
  private final class Asked: Sendable {
    let times = Atomic<Int>(0)
    var count: Int { times.load(ordering: .relaxed) }
  }

  private func authenticator(
    _ asked: Asked, keys: (@Sendable (AWSCredentials) async throws -> AWSKeys)? = nil
  ) -> Authenticator {
    let (transport, mask) = (ScriptedTransport { _ in .broken() }, SecretMask())
    let clock = EngineClock(now: { 100_000 }, random: { 0.5 })
    var secrets = SecretSource(
      resolve: { _ in Secret("s\(asked.times.add(1, ordering: .relaxed).newValue)") },
      keys: { _ in
        asked.times.add(1, ordering: .relaxed)
        return AWSKeys(accessKeyID: "id", secretAccessKey: Secret("s"))
      })
    if let keys { secrets.keys = keys }
    let oauth = OAuthTokens(
      transport: transport, clock: clock, secrets: secrets, mask: mask, kept: .none, remark: { _ in })
    return Authenticator(transport: transport, clock: clock, secrets: secrets, mask: mask, oauth: oauth)
  }

  private func endpoint(_ authentication: Authentication) -> Endpoint {
    Endpoint(name: "e", driver: S3Driver(S3Settings()), url: "http://h", authentication: authentication)
  }

  private func header(_ authenticator: Authenticator, _ endpoint: Endpoint) async throws -> String? {
    let target = try AdmittedURL(try #require(WebURL("http://h/a")), for: "GET", policy: EffectivePolicy())
    let headers = try await authenticated(authenticator, endpoint, target)
    return headers["Authorization"]
  }

  private func authenticated(
    _ authenticator: Authenticator, _ endpoint: Endpoint, _ target: AdmittedURL
  ) async throws -> HeaderList {
    var headers: HeaderList = ["x-amz-content-sha256": "UNSIGNED-PAYLOAD"]
    try await authenticator.authorise("GET", target, &headers, for: endpoint)
    return headers
  }

  @Test func whoWasRefusedTogetherRenewsOnce() async throws {
    let asked = Asked()
    let (authenticator, endpoint) = (authenticator(asked), endpoint(.bearer(.environment("T"))))
    let (one, two) = (
      CredentialRenewal(endpoint, authenticator), CredentialRenewal(endpoint, authenticator)
    )
    var (first, second) = (await one.use(), await two.use())
    #expect(try await header(authenticator, endpoint) == "Bearer s1")
    #expect(one.mayRenew(first))
    #expect(await one.renew(&first) == nil && !one.mayRenew(first), "once for a request")
    #expect(try await header(authenticator, endpoint) == "Bearer s2")
    // The other was refused with the old one.
    _ = await two.renew(&second)
    await two.forget(second)
    await one.forget(CredentialRenewal.Use())
    #expect(try await header(authenticator, endpoint) == "Bearer s3", "forgotten by its own number alone")
    #expect(asked.count == 3)
  }

  /// Stopped is the one transfer that was stopped, not another that needs the same keys while their command is killed.
  @Test func whoComesWhenAllOthersHaveLeftAsksAnew() async throws {
    let asked = Asked()
    let (begun, begin) = AsyncStream<Void>.makeStream()
    let (left, leave) = AsyncStream<Void>.makeStream()
    let (killed, kill) = AsyncStream<Void>.makeStream()
    let authenticator = authenticator(asked) { _ in
      if asked.times.add(1, ordering: .relaxed).newValue == 1 {
        begin.finish()
        await withTaskCancellationHandler {
          // It takes a while to end, whatever it is told.
          await Task { for await _ in killed {} }.value
        } onCancel: {
          leave.finish()
        }
        try Task.checkCancellation()
      }
      return AWSKeys(accessKeyID: "id", secretAccessKey: Secret("s"))
    }
    let endpoint = endpoint(.aws(.environment))
    let stopped = Task { try await header(authenticator, endpoint) }
    for await _ in begun {}
    stopped.cancel()
    for await _ in left {}
    let later = Task {
      try await Task.sleep(for: .milliseconds(300))
      kill.finish()
    }
    #expect(try await header(authenticator, endpoint) != nil)
    later.cancel()
    kill.finish()
    await #expect(throws: CancellationError.self) { _ = try await stopped.value }
    #expect(asked.count == 2)
  }

  @Test func withoutACredentialNothingIsRenewed() async {
    let authenticator = authenticator(Asked())
    for endpoint in [nil, endpoint(.none)] {
      let renewal = CredentialRenewal(endpoint, authenticator)
      let use = await renewal.use()
      #expect(!renewal.hasCredential && !renewal.mayRenew(use))
    }
  }

  /// By the same keys: a request that has waited asks nobody before it is sent.
  @Test func aSignatureIsMadeAnewWithoutAsking() async throws {
    let asked = Asked()
    let authenticator = authenticator(asked)
    let target = try AdmittedURL(try #require(WebURL("http://h/a")), for: "GET", policy: EffectivePolicy())
    var headers: HeaderList = ["x-amz-content-sha256": "UNSIGNED-PAYLOAD"]
    let sign = try await authenticator.authorise("GET", target, &headers, for: endpoint(.aws(.environment)))
    #expect(try sign?() == headers && headers["Authorization"] != nil && asked.count == 1)
    let undated = try await authenticator.authorise(
      "GET", target, &headers, for: endpoint(.bearer(.environment("T"))))
    let isUndated = undated == nil
    #expect(isUndated)
  }

  @Test(arguments: [(3600.0, true), (-3600, true), (200, false)])
  func aWrongClockIsFollowedAndSaidOnce(_ offset: Double, _ isFollowed: Bool) async throws {
    let (authenticator, endpoint) = (authenticator(Asked()), endpoint(.aws(.environment)))
    let renewal = CredentialRenewal(endpoint, authenticator)
    renewal.clockOffset = offset
    var use = await renewal.use()
    let told = await renewal.renew(&use)
    #expect((told?.message.contains("60 minutes \(offset < 0 ? "ahead" : "behind")") == true) == isFollowed)
    let again = await renewal.renew(&use)
    #expect(again == nil)
    let target = try AdmittedURL(try #require(WebURL("http://h/a")), for: "GET", policy: EffectivePolicy())
    let date = try await authenticated(authenticator, endpoint, target)["x-amz-date"]
    let hours: [Double: String] = [
      3600: "19700102T044640Z", -3600: "19700102T024640Z", 200: "19700102T034640Z",
    ]
    #expect(date == hours[offset])
  }
}
