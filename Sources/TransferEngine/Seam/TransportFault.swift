import Curl
import JobModel

/// What libcurl's faults mean in the one table of error codes.
enum TransportFault {
  static func translate(_ error: CurlError, _ request: WireRequest) -> any Error {
    let place = "\(request.method) \(request.url)"
    func fault(_ code: ErrorCode, _ what: String) -> any Error {
      TransportError(Failure(code, "\(place): \(what)"))
    }
    switch error.kind {
    case .aborted(let cause): return cause
    case .cancelled: return CancellationError()
    case .couldntResolve: return fault(.networkUnreachable, "the name can't be resolved: \(error.message)")
    case .couldntConnect: return fault(.networkUnreachable, error.message)
    case .timedOut(.connect):
      return fault(.timeout, "no connection within \(request.policy.connectTimeout) s")
    case .timedOut(.firstByte): return fault(.timeout, "no answer within \(request.policy.requestTimeout) s")
    case .timedOut(.stall): return fault(.timeout, "under 1 KB/s for \(request.policy.stallTimeout) s")
    case .tls: return fault(.tlsFailed, error.message)
    case .pinMismatch: return fault(.tlsFailed, "the server's key is none of `pinned_keys`")
    case .sendFailed, .receiveFailed, .emptyReply:
      return fault(.networkUnreachable, "the connection broke: \(error.message)")
    case .partialBody:
      return fault(.networkUnreachable, "the connection ended before the body did: \(error.message)")
    case .protocolViolation: return fault(.protocolViolation, error.message)
    case .badURL, .badRequest: return fault(.internal, "the request can't be made: \(error.message)")
    case .other: return fault(.networkUnreachable, "\(error.message) (libcurl \(error.code))")
    }
  }
}
