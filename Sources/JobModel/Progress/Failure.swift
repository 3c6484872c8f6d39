/// What went wrong with one transfer, with the facts; `code` says what may be done next.
package struct Failure: Error, Sendable, Hashable {
  package var code: ErrorCode
  package var message: String
  package var httpStatus: Int?
  /// Index of the chunk, where one is to blame.
  package var chunk: Int?
  package var expected: String?
  package var actual: String?
  /// Seconds that the server asked to wait.
  package var retryAfter: Double?
  /// Others have tried often enough: not to be tried again in this attempt.
  package var isGivenUp = false
  /// No connection was made, whatever was to be asked: the host is not there, rather than one of its files.
  package var isUnconnected = false

  package init(
    _ code: ErrorCode, _ message: String, httpStatus: Int? = nil, chunk: Int? = nil, expected: String? = nil,
    actual: String? = nil, retryAfter: Double? = nil
  ) {
    self.code = code
    self.message = message
    self.httpStatus = httpStatus
    self.chunk = chunk
    self.expected = expected
    self.actual = actual
    self.retryAfter = retryAfter
  }
}
