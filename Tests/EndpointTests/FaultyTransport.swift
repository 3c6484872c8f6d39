import Curl
import Endpoints
import JobModel
import Synchronization

@testable import HTTPClient

/// The network between one client and a server: libcurl, or a fault in an answer's place. It waits for nothing.
final class FaultyTransport: Transport {
  enum Fault: Sendable {
    /// Each request is answered so, and does not reach the server.
    case status(Int)
    /// The next request with a chunk's bytes, or without, reaches the server; its answer is lost.
    case lostAnswer(toChunk: Bool)
  }

  private let inner: CurlTransport
  private let fault = Mutex<Fault?>(nil)

  init(_ inner: CurlTransport) { self.inner = inner }

  var executor: any SerialExecutor & TaskExecutor { inner.executor }
  /// An answer was to be lost, and none has been.
  var isArmed: Bool { fault.withLock { $0 != nil } }

  func set(_ fault: Fault?) { self.fault.withLock { $0 = fault } }

  nonisolated(nonsending) func sleep(seconds: Double) async throws {
    await Task.yield()
    try Task.checkCancellation()
  }

  nonisolated(nonsending) func send(_ request: WireRequest, sink: any BodyWriter) async throws {
    switch next(request) {
    case nil: try await inner.send(request, sink: sink)
    case .status(let status): try sink.head(ResponseHead(status: status))
    case .lostAnswer:
      try await inner.send(request, sink: ResponseBuffer())
      throw TransportError(Failure(.networkUnreachable, "the answer is lost"))
    }
  }

  /// The fault that this request meets.
  private func next(_ request: WireRequest) -> Fault? {
    fault.withLock { fault in
      guard case .lostAnswer(let toChunk)? = fault else { return fault }
      let isChunk = if case .source = request.body { true } else { false }
      guard isChunk == toChunk else { return nil }
      defer { fault = nil }
      return fault
    }
  }
}
