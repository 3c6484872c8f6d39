package import Admission
package import Endpoints
package import JobModel

/// The network, as the engine sees it: one request, one answer. The only seam that tests replace.
package protocol Transport: Sendable {
  /// Sinks and body sources are called on it; the engine's actors run on it, and its tasks prefer it, so that nothing
  /// hops.
  var executor: any SerialExecutor & TaskExecutor { get }

  /// Sends a request once, without following redirects or retrying, and gives the answer to the sink.
  ///
  /// - Throws: `TransportError`, or what the sink or the body source threw, or `CancellationError`.
  nonisolated(nonsending) func send(_ request: WireRequest, sink: any BodyWriter) async throws

  /// Waits without holding the executor.
  nonisolated(nonsending) func sleep(seconds: Double) async throws
}

/// A request with everything decided: credentials, policy, limits.
package struct WireRequest: Sendable {
  package enum Body: Sendable {
    case none
    case bytes([UInt8])
    /// Read on the transport's executor.
    case source(any ByteReader, length: Int64)
  }
  package let method: String
  package let target: AdmittedURL
  package var headers: HeaderList
  package var body: Body
  /// Rate limits that the bodies keep to, both ways.
  package var throttle: Throttle?
  /// The transfer that asks; nil where none does.
  package var transfer: TransferPermit?
  /// A best-effort cleanup request: it waits for no admission.
  package var isCleanup = false
  /// The other half of a stream from one server to another, whose first half was admitted: waiting for a connection of its
  /// own it would hold that one for ever.
  package var isPaired = false
  /// Its answer is small: it stands in no line behind bodies.
  package var isShort = false
  /// Who sends it counts it, and is told by `NeverAdmitted` where it waited for its admission in vain.
  var isCounted = false
  /// Gives its headers with a signature of now; nil where none is dated.
  package var signAnew: (@Sendable () throws -> HeaderList)?

  package init(_ method: String, _ target: AdmittedURL, headers: HeaderList, body: Body) {
    self.method = method
    self.target = target
    self.headers = headers
    self.body = body
  }

  package var url: WebURL { target.url }
  package var policy: EffectivePolicy { target.policy }
}

/// Takes an answer; called on the transport's executor. What it throws ends the request.
package protocol BodyWriter: AnyObject {
  func head(_ head: ResponseHead) throws
  func body(_ bytes: UnsafeRawBufferPointer) throws
  /// True where no more can be taken for now: `resume` is then called once, from any thread, when it can.
  func mustWait(_ resume: @escaping @Sendable () -> Void) -> Bool
}

extension BodyWriter {
  package func mustWait(_ resume: @escaping @Sendable () -> Void) -> Bool { false }
}

extension Failure {
  /// What any error means for a transfer.
  package init(_ error: any Error) {
    self =
      switch error {
      case let failure as Failure: failure
      case let fault as TransportError: fault.failure
      case is CancellationError: Failure(.timeout, "the run was stopped first")
      default: Failure(.internal, "\(error)")
      }
  }
}

/// A request that was not answered.
package struct TransportError: Error, Sendable {
  package var failure: Failure
  /// Says nothing about the host: it was never asked.
  package var isOurs = false
  package init(_ failure: Failure, isOurs: Bool = false) {
    self.failure = failure
    self.isOurs = isOurs
  }
}
