import Admission
import Endpoints
import JobModel
import Synchronization
import Testing

@testable import HTTPClient

/// What the queue of requests changes in a request that has waited in it.
struct GatedTransportTests {
  /// S3 takes a signature for 15 minutes, and a slow line's queue may be longer.
  @Test(arguments: [(0.0, "then"), (60, "then"), (61, "now")])
  func whatHasWaitedIsSignedAnew(_ waited: Double, _ date: String) async throws {
    let transport = ScriptedTransport { _ in .status(200) }
    let admission = AdmissionQueue(
      executor: transport.executor, sleep: { try await transport.sleep(seconds: $0) }, now: { 0 },
      random: { 0.5 })
    let looks = Mutex(0)
    let gated = GatedTransport(transport, admission: admission) {
      looks.withLock { count in
        count += 1
        return count == 1 ? 1_700_000_000 : 1_700_000_000 + waited
      }
    }
    let target = try AdmittedURL(try #require(WebURL("http://h/a")), for: "GET", policy: EffectivePolicy())
    var request = WireRequest("GET", target, headers: ["X-Amz-Date": "then"], body: .none)
    request.signAnew = { ["X-Amz-Date": "now"] }
    let wire = request
    try await Task(executorPreference: transport.executor) {
      try await gated.send(wire, sink: ResponseBuffer())
    }.value
    #expect(transport.sent.map { $0.headers["X-Amz-Date"] } == [date])
  }
}
