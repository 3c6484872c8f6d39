package import JobModel

/// What an HTTP status says of a request beyond the failure's class; nothing where there is none.
extension Failure {
  /// What was asked about is not there.
  package var isGoneThere: Bool { httpStatus == 404 || httpStatus == 410 }

  /// The server does not do what was asked of it.
  package var isClientError: Bool { (400..<500).contains(httpStatus ?? 0) }

  /// The server can't do what was asked of it.
  package var isUnimplemented: Bool { httpStatus == 501 }

  /// Refused for what it is: nothing was opened.
  package var openedNothing: Bool { isClientError && ![408, 409, 425, 429].contains(httpStatus ?? 0) }

  /// Refused for whom it came from: a token or a right may have ended since.
  package var isOfCredentials: Bool { [401, 403, 407].contains(httpStatus ?? 0) }

  /// Refused for what it is, now and at any time: it was never opened.
  package var neverOpens: Bool { openedNothing && !isOfCredentials && !mayPass }

  /// The server may answer another time.
  package var mayPass: Bool { code.isRetryable && !isUnimplemented }
}
