import Curl
import Endpoints
import JobModel

/// What libcurl's faults mean in the one table of error codes.
enum TransportFault {
  /// What libcurl adds to a message that says so already.
  private static let repetition = ": Couldn't connect to server"

  static func translate(_ error: CurlError, _ request: WireRequest) -> any Error {
    let place = "\(request.method) \(request.url)"
    func fault(_ code: ErrorCode, _ what: String) -> any Error {
      TransportError(Failure(code, "\(place): \(what)"))
    }
    func unconnected(_ code: ErrorCode, _ what: String) -> any Error {
      var failure = Failure(code, "\(place): \(what)")
      failure.isUnconnected = true
      return TransportError(failure)
    }
    switch error.kind {
    case .aborted(let cause): return cause
    case .cancelled: return CancellationError()
    case .couldntResolve: return unconnected(.networkUnreachable, error.message)
    case .couldntConnect:
      return unconnected(.networkUnreachable, error.message.replacing(Self.repetition, with: ""))
    case .interfaceUnavailable:
      return TransportError(
        Failure(.networkUnreachable, "\(place): \(error.message); nothing was sent"), isOurs: true)
    case .timedOut(.connect):
      return unconnected(.timeout, "no connection within \(request.policy.connectTimeout) s")
    case .timedOut(.firstByte):
      // An interim answer, or a head alone, is no answer yet.
      let what = error.receivedBytes ? "an answer began, and none of its body came" : "no answer"
      return fault(.timeout, "\(what) within \(request.policy.requestTimeout) s")
    case .timedOut(.stall): return fault(.timeout, "under 1 KB/s for \(request.policy.stallTimeout) s")
    case .tls(let what): return fault(.tlsFailed, text(what, error, request))
    case .pinMismatch:
      return fault(
        .tlsFailed, "the server's key is none of `tls.pinned_keys`; if the server has a new key, add its pin")
    case .sendFailed, .receiveFailed, .emptyReply:
      return fault(.networkUnreachable, "the connection broke: \(error.message)")
    case .partialBody:
      return fault(.networkUnreachable, "the connection ended before the body did: \(error.message)")
    case .protocolViolation: return fault(.protocolViolation, error.message)
    case .badURL, .badRequest: return fault(.internal, "the request can't be made: \(error.message)")
    case .other: return fault(.networkUnreachable, "\(error.message) (libcurl \(error.code))")
    }
  }

  /// What is wrong, and what to do about it.
  private static func text(_ fault: TLSFault, _ error: CurlError, _ request: WireRequest) -> String {
    let (policy, host) = (request.policy, request.url.host)
    return switch fault {
    case .untrusted:
      "the certificate of `\(host)` is signed by nobody who is trusted here; if it should be, name its CA in "
        + "`tls.ca_file` (\(error.message))"
    case .expired: "the certificate of `\(host)` has expired; its owner has to renew it"
    case .notYetValid: "the certificate of `\(host)` is not valid yet; compare this machine's clock"
    case .revoked: "the certificate of `\(host)` has been revoked; its owner has to replace it"
    case .wrongHost:
      "the certificate is not one for `\(host)`; use a name that it is made for (\(error.message))"
    case .version:
      "`\(host)` does not support TLS \(policy.tlsMinVersion.rawValue) or newer; the server has to be brought "
        + "up to date (\(error.message))"
    case .plain: "what answers does not speak TLS; is `https` meant, and the port the right one?"
    case .clientCertificate where policy.clientCertificate == nil:
      "`\(host)` wants a client certificate; name one in `tls.client_cert` and `tls.client_key`"
    case .clientCertificate:
      "`\(host)` refuses the client certificate `\(policy.clientCertificate ?? "")` (\(error.message))"
    case .brokenOff where policy.clientCertificate == nil:
      "`\(host)` broke the handshake off; it may want a client certificate (`tls.client_cert`), or no cipher is "
        + "shared (\(error.message))"
    case .brokenOff:
      "`\(host)` broke the handshake off; it may not take the client certificate "
        + "`\(policy.clientCertificate ?? "")`, or no cipher is shared (\(error.message))"
    case .ownFile:
      "the client certificate `\(policy.clientCertificate ?? "")` or its key can't be used (\(error.message))"
    case .caFile: "`tls.ca_file` `\(policy.caFile ?? "")` can't be used (\(error.message))"
    case .other: error.message
    }
  }
}
