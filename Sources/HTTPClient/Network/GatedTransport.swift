package import Admission
import Endpoints
import JobModel

/// A transport whose requests wait for their admission.
package struct GatedTransport<Inner: Transport>: Transport {
  private let inner: Inner
  private let admission: AdmissionQueue
  /// Seconds since 1970, for dates in `Retry-After` and the time that requests wait.
  private let wallClock: @Sendable () -> Double
  /// Seconds that a signature may wait before it is made anew: S3 takes one for 15 minutes.
  private static var fresh: Double { 60 }

  package init(_ inner: Inner, admission: AdmissionQueue, wallClock: @escaping @Sendable () -> Double) {
    self.inner = inner
    self.admission = admission
    self.wallClock = wallClock
  }

  package var executor: any SerialExecutor & TaskExecutor { inner.executor }

  package nonisolated(nonsending) func sleep(seconds: Double) async throws {
    try await inner.sleep(seconds: seconds)
  }

  package nonisolated(nonsending) func send(_ request: WireRequest, sink: any BodyWriter) async throws {
    if request.isCleanup { return try await inner.send(request, sink: sink) }
    if request.isPaired { return try await sendPaired(request, sink: sink) }
    let asked = wallClock()
    let permit: RequestPermit
    do {
      permit = try await admission.enter(
        AdmissionRequest(
          request.url.origin, sharing: request.target.sharedPolicy, request.transfer,
          limits: Self.limits(request)))
    } catch let failure as Failure {
      throw TransportError(failure, isOurs: true)
    } catch is CancellationError where request.isCounted {
      throw NeverAdmitted()
    }
    let watch = Watch(request, sink, admission: admission, permit: permit, wallClock: wallClock)
    var wire = request
    var sent: Int64 = 0
    if case .source(_, let length) = request.body {
      sent = length
      wire.body = .source(watch, length: length)
    }
    do {
      if let sign = request.signAnew, wallClock() - asked > Self.fresh { wire.headers = try sign() }
      try await inner.send(wire, sink: watch)
      let isTaken = watch.status.map { $0 < 300 } ?? false
      await admission.leave(
        permit, failure: watch.outage, received: isTaken ? watch.received : 0, sent: isTaken ? sent : 0,
        isWhole: true)
    } catch {
      await admission.leave(permit, failure: watch.status == nil ? Self.silence(error) : watch.outage)
      throw error
    }
  }

  /// Sends half of a stream. No connection is counted for it; its host's cool-down is kept, and told to others, as any
  /// request's.
  private nonisolated(nonsending) func sendPaired(_ request: WireRequest, sink: any BodyWriter) async throws {
    let host = request.url.origin
    while let failure = await admission.cooldown(.origin(host)) {
      guard let seconds = failure.retryAfter, seconds <= Backoff(request.policy).longestRest else {
        throw TransportError(failure, isOurs: true)
      }
      try await admission.pause(request.transfer, seconds: seconds, isCooldown: true)
    }
    let watch = CooldownWatch(host, sink, admission: admission, wallClock: wallClock)
    try await inner.send(request, sink: watch)
  }

  /// The rate limits that a request's body stands under. What is short must not wait behind what is long.
  private static func limits(_ request: WireRequest) -> [RateLimit] {
    guard !request.isShort else { return [] }
    return switch request.body {
    case .source: request.throttle?.limits(.upload) ?? []
    case .none where request.method == "GET": request.throttle?.limits(.download) ?? []
    case .none, .bytes: []
    }
  }

  /// The failure where the host itself did not answer: not what we refused or took back.
  private static func silence(_ error: any Error) -> Failure? {
    guard let fault = error as? TransportError, !fault.isOurs, fault.failure.isSilence else { return nil }
    return fault.failure
  }
}

/// The request's task was cancelled while it waited to be let go: nothing was sent.
struct NeverAdmitted: Error {}

/// The host answered late, and others have the transfer's permit: nothing of the body was moved, and the request is to be
/// made again, which waits for a permit. Held up instead, it would hold a connection that those others may wait for.
struct PermitLost: Error {}

/// Tells the queue what becomes of one request. Used on the transport's executor alone, hence sendable to it.
private final class Watch: BodyWriter, ByteReader, @unchecked Sendable {
  private let admission: AdmissionQueue
  private let permit: RequestPermit
  private let request: WireRequest
  private let sink: any BodyWriter
  private let wallClock: () -> Double
  private var hasTold = false
  private(set) var status: Int?
  /// Bytes of the response's body.
  private(set) var received: Int64 = 0

  init(
    _ request: WireRequest, _ sink: any BodyWriter, admission: AdmissionQueue, permit: RequestPermit,
    wallClock: @escaping () -> Double
  ) {
    self.request = request
    self.sink = sink
    self.admission = admission
    self.permit = permit
    self.wallClock = wallClock
  }

  func head(_ head: ResponseHead) throws {
    status = head.status
    let retryAfter = HTTPFailure.retryAfter(head.headers, now: wallClock())
    // A refusal or a redirect is short, and other answers than a GET's follow bodies that have their permit.
    let needsPermit = head.status < 300 && request.method == "GET" && !request.isShort
    let (permit, status) = (permit, head.status)
    let mayMove = admission.assumeIsolated {
      $0.answered(permit, status: status, retryAfter: retryAfter)
      return !needsPermit || $0.mayMove(permit)
    }
    guard mayMove else { throw PermitLost() }
    try sink.head(head)
  }

  /// The failure where something answered in the host's place.
  var outage: Failure? {
    guard let status, CircuitBreaker.isOutage(status) else { return nil }
    return Failure(.serverError, "HTTP \(status) from \(permit.request.host)", httpStatus: status)
  }

  func body(_ bytes: UnsafeRawBufferPointer) throws {
    received += Int64(bytes.count)
    try sink.body(bytes)
  }

  func mustWait(_ resume: @escaping @Sendable () -> Void) -> Bool { sink.mustWait(resume) }

  private var source: (any ByteReader)? {
    if case .source(let source, _) = request.body { source } else { nil }
  }

  var length: Int64 { source?.length ?? 0 }
  var mayBeRepeated: Bool { source?.mayBeRepeated ?? true }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    if !hasTold {
      hasTold = true
      let permit = permit
      guard admission.assumeIsolated({ $0.mayMove(permit) }) else { throw PermitLost() }
    }
    return try source?.read(into: buffer) ?? 0
  }

  func lacksBytes(_ resume: @escaping @Sendable () -> Void) -> Bool { source?.lacksBytes(resume) ?? false }
  func rewind() throws { try source?.rewind() }

  func settle(sent: Int64) { source?.settle(sent: sent) }
}

/// Tells the queue what a host asks for in its answer to a request without a permit.
private final class CooldownWatch: BodyWriter {
  private let host: String
  private let sink: any BodyWriter
  private let admission: AdmissionQueue
  private let wallClock: () -> Double

  init(
    _ host: String, _ sink: any BodyWriter, admission: AdmissionQueue, wallClock: @escaping () -> Double
  ) {
    self.host = host
    self.sink = sink
    self.admission = admission
    self.wallClock = wallClock
  }

  func head(_ head: ResponseHead) throws {
    if [429, 503].contains(head.status),
      let seconds = HTTPFailure.retryAfter(head.headers, now: wallClock())
    {
      let host = host
      admission.assumeIsolated { $0.coolDown(host: host, for: seconds) }
    }
    try sink.head(head)
  }

  func body(_ bytes: UnsafeRawBufferPointer) throws { try sink.body(bytes) }

  func mustWait(_ resume: @escaping @Sendable () -> Void) -> Bool { sink.mustWait(resume) }
}
