import Admission
import Endpoints
import Foundation
import HTTPClient
import JobLedger
import JobModel
import Synchronization
import Testing

@testable import Transfers

/// Which sessions can only be those that were asked for without an answer.
struct IntendedSessionTests {
  private static let upload = PlanBench.Line(id: "a", from: "a", to: "store:k")
  private let intent = SessionIntent(
    key: "key", size: 10, contentType: "text/plain", chunkSize: 5, askedAt: PlanBench.began)

  private func sink(_ bench: PlanBench) throws -> any RemoteSink {
    let transfer = try bench.transfer(1)
    let place = try RemotePlace(transfer.destination, endpoints: bench.context.endpoints)
    let remote = try place.upload()
    return remote.sink(
      Requester(
        bench.context.client, endpoint: place.endpoint, remote: remote.refusals, settings: transfer.settings,
        throttle: Throttle(transfer.settings.policy)))
  }

  private func words(_ finding: IntendedSession.Finding) -> String {
    switch finding {
    case .sessions(let sessions): sessions.map(\.id).joined(separator: " ")
    case .unlisted: "unlisted"
    case .early: "early"
    }
  }

  /// As a `Date` header has it (RFC 9110, 5.6.7).
  private static func date(_ seconds: Double) -> String {
    let form = DateFormatter()
    (form.locale, form.timeZone) = (Locale(identifier: "en_US_POSIX"), TimeZone(secondsFromGMT: 0))
    form.dateFormat = "EEE, dd MMM yyyy HH:mm:ss 'GMT'"
    return form.string(from: Date(timeIntervalSince1970: seconds))
  }

  struct Case: Sendable, CustomStringConvertible {
    /// Seconds from the asking to the opening, by our clock.
    var opened = 0.0
    /// Seconds from the asking to the search.
    var passed = 1000.0
    /// Seconds that the store's clock is ahead.
    var ahead = 0.0
    /// Seconds that the search waits for its answer.
    var took = 0.0
    var hasPart = false
    var isOnRecord = false
    var status = 200
    var found = "u"
    var description: String { "opened \(opened), passed \(passed), ahead \(ahead), took \(took), \(found)" }
  }

  @Test(arguments: [
    Case(), Case(opened: -2), Case(opened: 60), Case(opened: 10, ahead: 3600), Case(opened: 10, ahead: -3600),
    Case(took: 30), Case(opened: 60, ahead: 3600, took: 30), Case(opened: -3, took: 30, found: ""),
    Case(opened: -3, found: ""), Case(opened: 61, found: ""),
    Case(hasPart: true, found: ""), Case(isOnRecord: true, found: ""),
    Case(passed: 959, found: "early"), Case(passed: 960), Case(status: 403, found: "unlisted"),
    Case(status: 501, found: "unlisted"),
  ]) func aStoreIsAskedWhatIsOpen(_ one: Case) async throws {
    let date = Self.date(PlanBench.began + one.passed + one.took + one.ahead)
    let opened = Timestamp.text(PlanBench.began + one.opened + one.ahead)
    let wait = Mutex<@Sendable () -> Void>({})
    let bench = try PlanBench([Self.upload]) { sent in
      wait.withLock { $0 }()
      if sent.url.query?.contains("uploads=") == true {
        let body =
          "<Upload><Key>k</Key><UploadId>u</UploadId><Initiated>\(opened)</Initiated></Upload>"
          + "<Upload><Key>kk</Key><UploadId>v</UploadId><Initiated>\(opened)</Initiated></Upload>"
        return .status(
          one.status, ["Date": date], "<ListMultipartUploadsResult>\(body)</ListMultipartUploadsResult>")
      }
      let part = one.hasPart ? "<Part><PartNumber>1</PartNumber><Size>5</Size></Part>" : ""
      return .status(200, [:], "<ListPartsResult>\(part)</ListPartsResult>")
    }
    if one.isOnRecord {
      try await bench.alter(1) { $0.session = RemoteSession(id: "u", chunkSize: 5) }
    }
    bench.pass(one.passed)
    wait.withLock { $0 = { bench.pass(one.took) } }
    defer { wait.withLock { $0 = {} } }
    let found = try await IntendedSession.find(
      intent, at: try sink(bench), bench.context.client, bench.ledger)
    #expect(words(found) == one.found)
    #expect(bench.methods.isEmpty == (one.found == "early"), "what is too early is not asked")
  }

  @Test(
    arguments: [
      (201, #"{"sessionId":"s1","chunkSize":5}"#, "s1"), (410, #"{"code":"SESSION_EXPIRED"}"#, ""),
      (400, "", ""), (503, "", nil), (401, "", nil),
    ] as [(Int, String, String?)]) func aKeyGivesItAgain(_ status: Int, _ body: String, _ expected: String?)
    async throws
  {
    let bench = try PlanBench([.init(id: "a", from: "a", to: "api:k")]) { _ in .status(status, [:], body) }
    var keyed = intent
    keyed.askedAt = nil
    let sink = try sink(bench)
    do {
      let found = try await IntendedSession.find(keyed, at: sink, bench.context.client, bench.ledger)
      #expect(words(found) == expected)
    } catch { #expect(expected == nil, "\(error)") }
    #expect(bench.transport.sent.first?.headers["Idempotency-Key"] == #""key""#)
  }

  @Test(
    arguments: [
      (100.0 as Double?, nil, 1059.0, false), (100, nil, 1060, true), (100, 200, 1060, false),
      (100, 200, 1160, true),
      // A clock that was ahead.
      (5000, nil, 100, true), (nil, nil, 0, true),
    ] as [(Double?, Double?, Double, Bool)])
  func due(_ first: Double?, _ last: Double?, _ now: Double, _ isDue: Bool) {
    let intent = SessionIntent(
      key: "k", size: 1, contentType: "", chunkSize: 1, askedAt: first, lastAskedAt: last)
    #expect(IntendedSession.isDue(intent, now: now) == isDue)
  }

  @Test func whoseIntentsAreOnRecord() async throws {
    let bench = try PlanBench([Self.upload, .init(id: "b", from: "b", to: "store:l")])
    try await bench.record(.intent(seq: 1, intent))
    let cache = IntentCache()
    // Before the ledger is read there is nothing to count.
    cache.add(2)
    #expect(try cache.mayHave(1, in: bench.ledger) && !cache.mayHave(2, in: bench.ledger))
    cache.add(1)
    cache.remove(1)
    cache.add(2)
    #expect(try cache.mayHave(1, in: bench.ledger) && cache.mayHave(2, in: bench.ledger))
    cache.remove(1)
    #expect(try !cache.mayHave(1, in: bench.ledger))
  }
}
