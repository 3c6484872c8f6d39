package import JobModel

/// What every protocol says, whichever way the bytes go.
package protocol RemoteProtocol: Sendable {
  /// Redirects are part of the protocol; where they are not, they are refusals.
  var followsRedirects: Bool { get }
  /// Whether a redirect with this status is one of them: where to the same request goes again.
  func follows(redirect status: Int) -> Bool
  /// Bytes that an answer to a control request may have.
  var longestResponse: Int { get }
  /// Whether an answer to a control request is a refusal: some services refuse with 200 and an error in the body.
  func refuses(_ response: Response) -> Bool
  /// What a refusing answer means, in the service's own words where it has some.
  ///
  /// `RATE_LIMITED` and `SERVER_ERROR` are tried again. `UNAUTHORIZED` under another status than 401 says that the
  /// credential has expired, or that this machine's clock is wrong: both are mended once, and the request made again.
  func refusal(_ response: Response, doing what: String, now: Double) -> Failure
  /// Asks again for what was refused without a reason, as an answer to HEAD is, or because it was HEAD; nil where the
  /// refusal says enough. What it is answered with counts in the refusal's place.
  func question(after response: Response, to request: Request) -> Request?
}

extension RemoteProtocol {
  package var followsRedirects: Bool { true }
  package func follows(redirect status: Int) -> Bool { followsRedirects }
  package var longestResponse: Int { 16 << 20 }
  package func refuses(_ response: Response) -> Bool { response.status >= 400 }
  package func refusal(_ response: Response, doing what: String, now: Double) -> Failure {
    HTTPFailure.of(response, doing: what, now: now)
  }
  package func question(after response: Response, to request: Request) -> Request? { nil }
}
