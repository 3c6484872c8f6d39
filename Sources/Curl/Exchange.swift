import CCurl

/// One request under way. Touched on its network thread only, once it has been started.
final class Exchange: @unchecked Sendable {
  typealias Outcome = Result<CurlResult, CurlError>

  /// As many as libcurl takes itself from 8.3.0 on, interim heads included: without it a server's heads fill the memory.
  static let mostHeadBytes = 300 * 1024

  let request: CurlRequest
  let sink: any CurlSink
  /// Called once, with what the request came to.
  let finish: (Outcome) -> Void
  /// Scheme and authority: what connections are counted by.
  let origin: String
  /// Whom the connection is made to: the proxy, else the origin.
  var peer: String { request.options.proxy ?? origin }
  let source: (any CurlBodySource)?
  let bodyLength: Int64

  var easy: EasyHandle?
  var headers = CurlHeaders()
  var status = 0
  var isHeadDelivered = false
  var receivedBytes = false
  /// Of all heads and trailers of the answer, interim ones included.
  var headBytes = 0
  var bytesReceived: Int64 = 0
  var bytesGiven: Int64 = 0
  /// Of the body, by tries that ended in a rewind.
  var bytesSentBefore: Int64 = 0
  /// Of the body by this try: libcurl forgets its own count before it asks for a rewind.
  var bytesUploaded: Int64 = 0
  var isPaused = false
  /// False where connections to the same peer were made under another way: libcurl would mix them.
  var mayShareConnection = true
  /// The error that a callback stopped the request with.
  var failure: (any Error)?
  /// Why the last address was not connected to; counts where no address was.
  var refusal: (any Error)?
  /// Whether a socket was made for a connection.
  var hasOpened = false
  /// Those sockets, until one of them is the connection.
  var opened: [Int32] = []
  var sockets: Sockets?
  /// Of the connection.
  var localPort: Int32?
  var watch = Watch()

  init(_ request: CurlRequest, sink: any CurlSink, finish: @escaping (Outcome) -> Void) {
    self.request = request
    self.sink = sink
    self.finish = finish
    origin = Self.origin(of: request.url)
    switch request.body {
    case .none:
      // RFC 9110, 8.6: a method that means content says that there is none.
      let meansContent = ["POST", "PUT", "PATCH"].contains(request.method)
      source = meansContent ? BytesSource([]) : nil
      bodyLength = 0
    case .bytes(let bytes):
      source = BytesSource(bytes)
      bodyLength = Int64(bytes.count)
    case .stream(let length, let source):
      self.source = source
      bodyLength = length
    }
  }

  /// Bytes of the body that libcurl has written to its socket.
  var bytesSent: Int64 {
    bytesSentBefore + max(bytesUploaded, easy?.offset(CURLINFO_SIZE_UPLOAD_T) ?? 0)
  }

  func result() -> CurlResult {
    CurlResult(
      status: status, headers: headers, bytesReceived: bytesReceived,
      bytesSent: easy?.offset(CURLINFO_SIZE_UPLOAD_T) ?? 0,
      reusedConnection: easy?.long(CURLINFO_NUM_CONNECTS) == 0)
  }

  /// What libcurl's end of the transfer means.
  func outcome(_ code: CURLcode) -> Outcome {
    if code == CURLE_OK {
      if !isHeadDelivered { deliverHead() }
      if failure == nil { return .success(result()) }
    }
    if let error = failure as? CurlError { return .failure(error) }
    if let failure {
      return .failure(
        CurlError(
          kind: .aborted(failure), code: Int(code.rawValue), message: "\(failure)",
          receivedBytes: receivedBytes))
    }
    if let refusal, !hasOpened, code == CURLE_COULDNT_CONNECT {
      let error = refusal as? CurlError
      return .failure(
        error ?? CurlError(kind: .aborted(refusal), code: Int(code.rawValue), message: "\(refusal)"))
    }
    // Said of a URL before there is a connection, and of what is no HTTP head after.
    let isForeign = code == CURLE_UNSUPPORTED_PROTOCOL && watch.hasBegun
    return .failure(
      CurlError(
        code, text: easy?.lastError ?? "", receivedBytes: receivedBytes || isForeign,
        verification: easy?.long(CURLINFO_SSL_VERIFYRESULT) ?? 0))
  }

  private static func origin(of url: String) -> String {
    var slashes = 0
    return String(
      Substring(
        url.utf8.prefix { byte in
          if byte == UInt8(ascii: "/") { slashes += 1 }
          return slashes < 3
        }))
  }
}
