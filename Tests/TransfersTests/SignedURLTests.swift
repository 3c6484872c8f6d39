import Admission
import Endpoints
import JobModel
import SFTPClient
import Testing

@testable import HTTPClient

/// A URL whose signature may end, and the one that takes its place.
struct SignedURLTests {
  @Test(arguments: [
    ("http://h/a?sig=1", true), ("http://h/a", false), ("web:a?sig=1", false), ("a.bin", false),
  ])
  func onlyAURLWithAQueryMayBeSigned(_ place: String, _ may: Bool) {
    #expect((SignedURL(Place(place)) { nil } != nil) == may)
  }

  @Test(arguments: [
    ("http://h/a?sig=2" as String?, true), ("http://h/a?sig=1", false), ("web:a", false), (nil, false),
  ])
  func onlyAnotherURLIsNews(_ found: String?, _ isNew: Bool) async throws {
    let signed = try #require(SignedURL(Place("http://h/a?sig=1")) { found.map { Place($0) } })
    let (planned, other) = (
      try #require(WebURL("http://h/a?sig=1")), try #require(WebURL("http://h/b?sig=1"))
    )
    #expect(signed.replacing(planned) == planned)
    #expect(try await signed.renew(after: planned) == isNew)
    #expect(signed.replacing(planned).text == (isNew ? found : planned.text))
    #expect(signed.replacing(other) == other, "protocols know the planned one alone")
    let current = signed.replacing(planned)
    #expect(try await signed.renew(after: current) == false)
    #expect(try await signed.renew(after: planned) == isNew, "another request has found it")
  }

  /// Requests that were under way with the URL that is refused go on with the one that the first of them finds.
  @Test func requestsThatAreRefusedTogetherGoOn() async throws {
    let transport = ScriptedTransport(latency: .milliseconds(20)) { sent in
      .status(sent.url.query == "sig=2" ? 200 : 403)
    }
    let client = SignedClient(transport, try #require(WebURL("http://h/a?sig=1"))) {
      Place("http://h/a?sig=2")
    }
    try await withThrowingTaskGroup(of: Int.self) { group in
      for _ in 0..<3 { group.addTask { try await client.status() } }
      for try await status in group { #expect(status == 200) }
    }
    #expect(transport.sent.count { $0.url.query == "sig=2" } == 3)
  }
}

/// Requests of one transfer to a signed URL.
private actor SignedClient {
  private let requester: Requester
  private let url: WebURL

  init(_ transport: ScriptedTransport, _ url: WebURL, renewed: @escaping @Sendable () async throws -> Place?)
  {
    let context = ClientContext(
      transport: transport, clock: EngineClock(now: { 1_700_000_000 }, random: { 0.5 }),
      secrets: SecretSource { _ in Secret("token") }, mask: SecretMask(),
      sftp: SFTPClient(SSHSurroundings(home: nil, agentSocket: nil)))
    let settings = TransferSettings(direction: .download)
    requester = Requester(
      context, endpoint: nil, settings: settings, throttle: Throttle(settings.policy),
      signed: SignedURL(Place(url.text), renewed: renewed))
    self.url = url
  }

  func status() async throws -> Int { try await requester.call(Request("GET", url)).status }
}
