/// What a finished request came to; its body went to the sink.
package struct CurlResult: Sendable {
  package let status: Int
  package let headers: CurlHeaders
  /// Bytes of body, after transfer coding.
  package let bytesReceived: Int64
  /// Bytes of body.
  package let bytesSent: Int64
  /// Whether a connection of an earlier request carried it.
  package let reusedConnection: Bool
}
