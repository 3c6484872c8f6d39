import CCurl

extension CurlError {
  /// The error for a code of libcurl's, with the text from its error buffer where it left one.
  init(_ code: CURLcode, text: String = "", receivedBytes: Bool = false, verification: Int = 0) {
    let message =
      code == CURLE_BAD_FUNCTION_ARGUMENT && receivedBytes
      ? "the first header line of an answer begins with a blank"
      : text.isEmpty ? String(cString: curl_easy_strerror(code)) : text
    let fault = TLSFault(code, verification: verification, text: message)
    self.init(
      kind: fault.map(Kind.tls) ?? Self.kind(code, receivedBytes), code: Int(code.rawValue), message: message,
      receivedBytes: receivedBytes)
  }

  private static func kind(_ code: CURLcode, _ receivedBytes: Bool) -> Kind {
    switch code {
    case CURLE_URL_MALFORMAT: .badURL
    // Of a URL's scheme before anything was received, of HTTP/0.9 after.
    case CURLE_UNSUPPORTED_PROTOCOL: receivedBytes ? .protocolViolation : .badURL
    case CURLE_COULDNT_RESOLVE_HOST, CURLE_COULDNT_RESOLVE_PROXY: .couldntResolve
    case CURLE_COULDNT_CONNECT, CURLE_PROXY: .couldntConnect
    // No other timeout of libcurl's is set.
    case CURLE_OPERATION_TIMEDOUT: .timedOut(.connect)
    case CURLE_SSL_PINNEDPUBKEYNOTMATCH: .pinMismatch
    case CURLE_SEND_ERROR, CURLE_SEND_FAIL_REWIND: .sendFailed
    case CURLE_RECV_ERROR: .receiveFailed
    case CURLE_PARTIAL_FILE: .partialBody
    case CURLE_GOT_NOTHING: .emptyReply
    // Of a first header line that begins with a blank, before libcurl 8.1.
    case CURLE_BAD_FUNCTION_ARGUMENT where receivedBytes: .protocolViolation
    case CURLE_WEIRD_SERVER_REPLY, CURLE_HTTP2, CURLE_HTTP2_STREAM, CURLE_BAD_CONTENT_ENCODING:
      .protocolViolation
    default: .other
    }
  }
}
