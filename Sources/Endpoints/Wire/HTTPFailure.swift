package import JobModel

/// What a refusing status means for a transfer, whatever the protocol: the last resort after its own codes.
package enum HTTPFailure {
  package static func of(_ response: Response, doing what: String, now: Double) -> Failure {
    let status = response.status
    let detail = ErrorBody.summary(response)
    let message = "\(what): HTTP \(status)\(detail.isEmpty ? "" : " (\(detail))") from \(response.url)"
    return Failure(
      code(status), message, httpStatus: status, retryAfter: retryAfter(response.headers, now: now))
  }

  package static func code(_ status: Int) -> ErrorCode {
    switch status {
    case 401, 407: .unauthorized
    case 403, 451: .forbidden
    case 404, 410: .notFound
    case 408, 425: .serverError
    case 416: .rangeInvalid
    case 429: .rateLimited
    case 501, 505: .protocolViolation
    case 500...599: .serverError
    default: .protocolViolation
    }
  }

  /// The longest Retry-After that is believed, in seconds: after a day the server is asked again, whatever it said.
  package static let longestRetryAfter = 86_400.0

  /// Seconds of Retry-After, given as such or as a date by the server's clock, which `Date` tells (RFC 9110, 10.2.3); a day at
  /// most.
  package static func retryAfter(_ headers: HeaderList, now: Double) -> Double? {
    guard let value = headers["Retry-After"] else { return nil }
    let isNumber = !value.isEmpty && value.utf8.allSatisfy { (48...57).contains($0) }
    let begun = headers["Date"].flatMap(HTTPDate.seconds) ?? now
    let seconds = isNumber ? Double(value) : HTTPDate.seconds(value).map { $0 - begun }
    return seconds.map { min(longestRetryAfter, max(0, $0)) }
  }
}
