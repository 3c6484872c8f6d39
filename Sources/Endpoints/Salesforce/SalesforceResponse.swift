import JobModel

/// Salesforce's own words: error documents, and pages in place of bytes.
enum SalesforceResponse {
  /// Seconds of rest after the organisation's limit of calls is spent; it counts 24 hours and tells no time to wait.
  static let limitRest = 3600.0

  /// Error codes of the REST API (`errorcodes.htm`) in ours.
  private static let codes: [String: ErrorCode] = [
    "INVALID_SESSION_ID": .unauthorized, "INVALID_AUTH_HEADER": .unauthorized, "INVALID_LOGIN": .unauthorized,
    "REQUEST_LIMIT_EXCEEDED": .rateLimited,
    "SERVER_UNAVAILABLE": .serverError, "QUERY_TIMEOUT": .serverError, "UNABLE_TO_LOCK_ROW": .serverError,
    "UNKNOWN_EXCEPTION": .serverError,
    "NOT_FOUND": .notFound, "ENTITY_IS_DELETED": .notFound, "INVALID_CROSS_REFERENCE_KEY": .notFound,
    "MALFORMED_ID": .notFound, "INVALID_ID_FIELD": .notFound,
    "INSUFFICIENT_ACCESS": .forbidden, "INSUFFICIENT_ACCESS_OR_READONLY": .forbidden,
    "API_DISABLED_FOR_ORG": .forbidden, "API_CURRENTLY_DISABLED": .forbidden,
    "FUNCTIONALITY_NOT_ENABLED": .forbidden,
    "MALFORMED_QUERY": .protocolViolation, "INVALID_FIELD": .protocolViolation,
    "INVALID_TYPE": .protocolViolation, "UNSUPPORTED_API_VERSION": .protocolViolation,
  ]

  static func refusal(of response: Response, doing what: String, now: Double) -> Failure {
    var failure = HTTPFailure.of(response, doing: what, now: now)
    guard let error = error(in: response.body) else {
      // Connect answers so when a day's calls are spent.
      if response.status == 429 { failure.retryAfter = failure.retryAfter ?? limitRest }
      return failure
    }
    failure.message =
      "\(what): \(error.code) (\(error.message)), HTTP \(response.status) from \(response.url)"
    failure.code = codes[error.code] ?? failure.code
    if failure.code == .rateLimited { failure.retryAfter = failure.retryAfter ?? limitRest }
    return failure
  }

  /// The first of an answer's errors: `[{"message": …, "errorCode": …}]`, or one such object.
  static func error(in body: [UInt8]) -> (code: String, message: String)? {
    let json = JSON(body)
    guard let first = json?.array?.first ?? json, let code = first["errorCode"].string, !code.isEmpty else {
      return nil
    }
    return (code.truncated(to: 80), (first["message"].string ?? "no message").truncated(to: 300))
  }

  /// The answer's type is a web page's or a script's.
  static func isPage(_ head: ResponseHead) -> Bool {
    let type = head.headers["Content-Type"]?.lowercased() ?? ""
    return [
      "text/html", "application/xhtml", "text/javascript", "application/javascript",
      "application/x-javascript",
    ]
    .contains { type.hasPrefix($0) }
  }

  static func loginPage(_ response: Response) -> Failure {
    Failure(
      .unauthorized,
      "\(response.url) answered with a page (\(response.headers["Content-Type"] ?? "no type")) in place of the file: a login page, most likely",
      httpStatus: response.status)
  }

  /// A number that Salesforce sends as text, or may send as a number.
  static func text(_ value: JSON) -> String? {
    value.string ?? (value.double == nil ? nil : value.text)
  }
}
