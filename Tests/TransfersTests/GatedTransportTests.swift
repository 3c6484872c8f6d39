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

  /// Half of a stream is counted nowhere; it keeps its host's cool-down, and tells others of it.
  @Test(arguments: [(30.0, true), (3600, false)])
  func halvesOfStreamsKeepCooldowns(_ seconds: Double, _ waits: Bool) async throws {
    let transport = ScriptedTransport { sent in
      sent.number == 1 ? .status(503, ["Retry-After": String(Int(seconds))]) : .status(200)
    }
    let clock = Mutex(0.0)
    let admission = AdmissionQueue(
      executor: transport.executor,
      sleep: { pause in
        clock.withLock { $0 += pause }
        try await transport.sleep(seconds: pause)
      }, now: { clock.withLock { $0 } }, random: { 0.5 })
    let gated = GatedTransport(transport, admission: admission) { 1_700_000_000 }
    let target = try AdmittedURL(try #require(WebURL("http://h/a")), for: "GET", policy: EffectivePolicy())
    var request = WireRequest("GET", target, headers: [:], body: .none)
    request.isPaired = true
    let wire = request
    let both = Task(executorPreference: transport.executor) {
      try await gated.send(wire, sink: ResponseBuffer())
      try await gated.send(wire, sink: ResponseBuffer())
    }
    if waits {
      try await both.value
    } else {
      await #expect(throws: TransportError.self) { try await both.value }
    }
    #expect(transport.sent.count == (waits ? 2 : 1) && transport.delays == (waits ? [seconds] : []))
    let left = await admission.cooldown(.origin(target.url.origin))
    #expect((left != nil) == !waits)
  }

  /// Who is stopped while it waits for a connection has sent nothing, and counts nothing.
  @Test func whoWaitsInVainSaysSo() async throws {
    let transport = ScriptedTransport { _ in .status(200) }
    let admission = AdmissionQueue(
      executor: transport.executor, sleep: { try await transport.sleep(seconds: $0) }, now: { 0 },
      random: { 0.5 })
    var policy = EffectivePolicy()
    policy.connectionsTotal = 1
    let permit = try await admission.enter(AdmissionRequest("http://h", policy))
    let gated = GatedTransport(transport, admission: admission) { 0 }
    let target = try AdmittedURL(try #require(WebURL("http://h/a")), for: "GET", policy: policy)
    for isCounted in [true, false] {
      var request = WireRequest("GET", target, headers: [:], body: .none)
      request.isCounted = isCounted
      let wire = request
      let waiting = Task(executorPreference: transport.executor) {
        try await gated.send(wire, sink: ResponseBuffer())
      }
      waiting.cancel()
      do {
        try await waiting.value
        Issue.record("nobody has left")
      } catch { #expect((error is NeverAdmitted) == isCounted) }
    }
    #expect(transport.sent.isEmpty)
    await admission.leave(permit, failure: nil)
  }
}
