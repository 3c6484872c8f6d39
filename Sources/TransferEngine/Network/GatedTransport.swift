import Endpoints
import JobLedger
import JobModel

/// A transport behind a gate.
package struct GatedTransport<Inner: Transport>: Transport {
  private let inner: Inner
  package let gate: HostGate
  /// Seconds since 1970, for dates in `Retry-After`.
  private let wallClock: @Sendable () -> Double
  private let rates: HostRates

  package init(
    _ inner: Inner, gate: HostGate, rates: HostRates, wallClock: @escaping @Sendable () -> Double
  ) {
    self.inner = inner
    self.gate = gate
    self.rates = rates
    self.wallClock = wallClock
  }

  package var executor: any SerialExecutor & TaskExecutor { inner.executor }

  package nonisolated(nonsending) func sleep(seconds: Double) async throws {
    try await inner.sleep(seconds: seconds)
  }

  package nonisolated(nonsending) func send(_ request: WireRequest, sink: any AnswerSink) async throws {
    if request.isFarewell { return try await inner.send(request, sink: sink) }
    let pass = try await gate.enter(request.url.origin, request.policy, request.slot)
    // Other answers are short, or follow bodies that have their place.
    let slot = request.method == "GET" && !request.isShort ? request.slot : nil
    let watched = WatchedSink(sink, gate: gate, pass: pass, slot: slot, wallClock: wallClock)
    var request = request
    var sent: Int64 = 0
    if case .source(let source, let length) = request.body {
      sent = length
      request.body = .source(WatchedBody(source, gate: gate, pass: pass, slot: request.slot), length: length)
    }
    do {
      try await inner.send(request, sink: watched)
      await gate.leave(pass, request.slot, failure: watched.outage)
      guard let status = watched.status, status < 300 else { return }
      measure(pass, request.slot, .download, bytes: watched.received)
      measure(pass, request.slot, .upload, bytes: sent)
    } catch {
      let failure = watched.status == nil ? Self.silence(error) : watched.outage
      await gate.leave(pass, request.slot, failure: failure)
      throw error
    }
  }

  private func measure(_ pass: HostGate.Pass, _ slot: Slot?, _ direction: Direction, bytes: Int64) {
    guard bytes >= HostRates.telling, let origin = slot?.origin() else { return }
    rates.measured(
      HostRate(origin: origin, direction: direction), bytes: bytes, seconds: gate.now() - pass.begun)
  }

  /// The failure where the host itself did not answer: not what we refused or took back.
  private static func silence(_ error: any Error) -> Failure? {
    guard let fault = error as? TransportError, !fault.isOurs,
      fault.failure.code == .networkUnreachable || fault.failure.code == .timeout
    else { return nil }
    return fault.failure
  }
}

/// The host spoke late, and others have the transfer's place: nothing of the body was moved, and the request is to be
/// made again, which waits for a place. Held up instead, it would hold a connection that those others may wait for.
struct PlaceLost: Error {}

/// Tells the gate of an answer's head. Used on the transport's executor alone, hence sendable to it.
private final class WatchedSink: AnswerSink, @unchecked Sendable {
  private let inner: any AnswerSink
  private let gate: HostGate
  private let pass: HostGate.Pass
  /// Whose place the answer needs; nil where it needs none.
  private let slot: Slot?
  private let wallClock: () -> Double
  private(set) var status: Int?
  /// Bytes of the body.
  private(set) var received: Int64 = 0

  init(
    _ inner: any AnswerSink, gate: HostGate, pass: HostGate.Pass, slot: Slot?,
    wallClock: @escaping () -> Double
  ) {
    self.inner = inner
    self.gate = gate
    self.pass = pass
    self.slot = slot
    self.wallClock = wallClock
  }

  func head(_ head: AnswerHead) throws {
    status = head.status
    let wish = HTTPFailure.retryAfter(head.headers, now: wallClock())
    let (pass, status) = (pass, head.status)
    let slot = slot
    let mayMove = gate.assumeIsolated {
      $0.answered(pass, status: status, retryAfter: wish)
      // A refusal or a redirect is short.
      return status >= 300 || $0.takesBack(pass, slot)
    }
    guard mayMove else { throw PlaceLost() }
    try inner.head(head)
  }

  /// The failure where something answered in the host's place.
  var outage: Failure? {
    guard let status, HostHealth.isOutage(status) else { return nil }
    return Failure(.serverError, "HTTP \(status) from \(pass.host)", httpStatus: status)
  }

  func body(_ bytes: UnsafeRawBufferPointer) throws {
    received += Int64(bytes.count)
    try inner.body(bytes)
  }

  func mustWait(_ resume: @escaping @Sendable () -> Void) -> Bool { inner.mustWait(resume) }
}

/// Tells the gate that the host takes bytes. Used on the transport's executor alone.
private final class WatchedBody: ByteReader, @unchecked Sendable {
  private let inner: any ByteReader
  private let gate: HostGate
  private let pass: HostGate.Pass
  private let slot: Slot?
  private var hasTold = false

  init(_ inner: any ByteReader, gate: HostGate, pass: HostGate.Pass, slot: Slot?) {
    self.inner = inner
    self.gate = gate
    self.pass = pass
    self.slot = slot
  }

  var length: Int64 { inner.length }
  var mayBeRepeated: Bool { inner.mayBeRepeated }

  func read(into buffer: UnsafeMutableRawBufferPointer) throws -> Int {
    if !hasTold {
      hasTold = true
      let (pass, slot) = (pass, slot)
      let mayMove = gate.assumeIsolated {
        $0.connected(pass)
        return $0.takesBack(pass, slot)
      }
      guard mayMove else { throw PlaceLost() }
    }
    return try inner.read(into: buffer)
  }

  func rewind() throws { try inner.rewind() }

  func settle(sent: Int64) { inner.settle(sent: sent) }
}
