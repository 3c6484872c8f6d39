/// A request as a value: what to send, not how. The engine adds credentials, policies and retries.
package struct Request: Sendable, Hashable {
  package enum Body: Sendable, Hashable {
    case none
    case bytes([UInt8])
    /// These bytes of the transfer's local source.
    case source(Range<Int64>)
  }

  package var method: String
  package var url: WebURL
  package var headers: HeaderList
  package var body: Body
  /// The endpoint's credentials go with it; false for URLs that carry their own.
  package var isAuthorised: Bool

  package init(
    _ method: String, _ url: WebURL, headers: HeaderList = HeaderList(), body: Body = .none,
    isAuthorised: Bool = true
  ) {
    self.method = method
    self.url = url
    self.headers = headers
    self.body = body
    self.isAuthorised = isAuthorised
  }
}

/// The head of an answer.
package struct ResponseHead: Sendable, Hashable {
  package var status: Int
  package var headers: HeaderList
  package init(status: Int, headers: HeaderList = HeaderList()) {
    self.status = status
    self.headers = headers
  }
}

/// An answer with its whole body; for control requests and refusals, whose bodies are small.
package struct Response: Sendable, Hashable {
  package var head: ResponseHead
  package var body: [UInt8]
  /// Where the answer came from, after redirects.
  package var url: WebURL

  package init(head: ResponseHead, body: [UInt8] = [], url: WebURL) {
    self.head = head
    self.body = body
    self.url = url
  }

  package var status: Int { head.status }
  package var headers: HeaderList { head.headers }
}
