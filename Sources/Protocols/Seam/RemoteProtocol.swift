package import JobModel

/// What every protocol says, whichever way the bytes go.
package protocol RemoteProtocol: Sendable {
  /// What a refusing answer means, in the service's own words where it has some.
  ///
  /// `RATE_LIMITED` and `SERVER_ERROR` are tried again. `UNAUTHORIZED` under another status than 401 says that the
  /// credential has expired: it is renewed once, and the request made again.
  func refusal(_ answer: Answer, doing what: String, now: Double) -> Failure
}

extension RemoteProtocol {
  package func refusal(_ answer: Answer, doing what: String, now: Double) -> Failure {
    HTTPFailure.of(answer, doing: what, now: now)
  }
}
