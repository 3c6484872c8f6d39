/// One HTTP request. Redirects are not followed and content is not decoded: the answer is what was sent.
package struct CurlRequest: Sendable {
  /// Names the request to `NetworkThread.resume`; a request is performed by one caller at a time.
  package let id = CurlRequestID()
  package var method: String
  /// `http` or `https`, percent-encoded; its path is sent as it stands.
  package var url: String
  /// In the order of sending; an empty value is sent empty.
  package var headers: [(String, String)]
  package var body: Body
  package var options: CurlOptions

  package init(
    method: String = "GET", url: String, headers: [(String, String)] = [], body: Body = .none,
    options: CurlOptions = CurlOptions()
  ) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
    self.options = options
  }

  /// What the request carries; its length is always known, so that nothing is sent chunked.
  package enum Body: Sendable {
    case none
    case bytes([UInt8])
    /// The source is only used on the network thread while the request runs.
    case stream(length: Int64, source: any CurlBodySource)
  }
}
