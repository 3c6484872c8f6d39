/// Takes an answer as it comes; called on the network thread only. An error thrown ends the request.
package protocol CurlSink: AnyObject {
  /// Called once, for the final answer: not for 1xx, nor for a proxy's answer to CONNECT.
  func head(status: Int, headers: CurlHeaders) throws

  /// The next bytes of the body, valid during the call; at most 16 KiB from today's libcurl.
  func body(_ bytes: UnsafeRawBufferPointer) throws -> StreamDecision
}

/// What a sink did with the bytes it was given.
package enum StreamDecision: Sendable, Hashable {
  /// All were taken.
  case take
  /// None were taken; the same bytes come again after `NetworkThread.resume`.
  case pause
}
