/// What a finished request came to; its body went to the sink.
package struct CurlResult: Sendable {
  package let status: Int
  package let headers: CurlHeaders
  /// Bytes of body, after transfer coding.
  package let bytesReceived: Int64
  /// Bytes of body.
  package let bytesSent: Int64
  /// The address connected to; nil where libcurl does not know.
  package let primaryIP: String?
  /// Whether a connection of an earlier request carried it.
  package let reusedConnection: Bool
  /// Seconds to wait, from `Retry-After` in either of its forms; nil without one.
  package let retryAfter: Int64?
  /// Seconds from the start to the end, without the wait for a connection slot.
  package let duration: Double
}
