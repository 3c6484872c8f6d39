/// Why a request came to no answer, or to less than a whole one.
package struct CurlError: Error, CustomStringConvertible {
  package enum Kind: Sendable {
    /// The URL, or a header's text, cannot be sent.
    case badURL
    case badRequest
    case couldntResolve
    case couldntConnect
    /// No socket could be bound to the interface that was asked for.
    case interfaceUnavailable
    case timedOut(Phase)
    /// TLS failed: a certificate, a file of ours, or the handshake.
    case tls(TLSFault)
    /// The server's key is none of the pinned ones.
    case pinMismatch
    case sendFailed
    case receiveFailed
    /// The body ended before its stated length.
    case partialBody
    /// The connection closed before any answer.
    case emptyReply
    /// What came is not HTTP.
    case protocolViolation
    /// The sink or the body source threw.
    case aborted(any Error)
    /// The task was cancelled, or the network thread shut down.
    case cancelled
    /// Another of libcurl's codes.
    case other
  }

  package enum Phase: String, Sendable {
    case connect
    case firstByte = "first-byte"
    case stall
  }

  package let kind: Kind
  /// libcurl's `CURLcode`; 0 where the cause is ours.
  package let code: Int
  /// libcurl's own words, or ours.
  package let message: String
  /// Whether any byte of an answer had come.
  package let receivedBytes: Bool

  package var description: String { message }

  package init(kind: Kind, code: Int = 0, message: String, receivedBytes: Bool = false) {
    self.kind = kind
    self.code = code
    self.message = message
    self.receivedBytes = receivedBytes
  }
}
