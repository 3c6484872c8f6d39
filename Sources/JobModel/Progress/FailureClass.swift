/// What a failure means for the next step. The code tells the user what happened; the class alone decides what the engine
/// does, and is given where the failure is made.
package enum FailureClass: Sendable, Hashable {
  /// The same request may work in a moment.
  case transient
  /// It passes, but not within this attempt: a host that others found silent, a full disk, a secret that is missing.
  case deferred
  /// The credential has expired, or this machine's clock is wrong: the request may work once either is mended.
  case credentialExpired
  /// The upload session is gone, or can't be completed any more: a new one has to be opened.
  case sessionGone
  /// The remote object is another one than the recorded bytes belong to.
  case objectChanged
  /// The server does not serve ranges of the object: it comes as one stream from byte 0.
  case rangesUnserved
  /// The local source is not what it was when its upload began.
  case sourceChanged
  /// Bytes arrived damaged: those of one chunk, which is sent again, or of an unknown place, which has to be found.
  case damaged(chunk: Int?)
  /// The server refuses what the credential or the URL allows.
  case denied
  /// Nothing that haul could repeat changes it.
  case permanent

  /// The class of a failure whose maker says no more than its code.
  init(_ code: ErrorCode, httpStatus: Int?, chunk: Int?) {
    self =
      switch code {
      case .networkUnreachable, .timeout, .serverError, .rateLimited, .rangeInvalid: .transient
      // What a client got wrong, a redirect that leads nowhere, and what a server can't do do not come right by repetition.
      case .protocolViolation:
        (300..<500).contains(httpStatus ?? 0) || [501, 505].contains(httpStatus) ? .permanent : .transient
      case .diskFull, .secretUnavailable: .deferred
      // A 401 has had its renewal by the time that it is a failure.
      case .unauthorized: httpStatus == 401 ? .denied : .credentialExpired
      case .forbidden: .denied
      case .sessionExpired: .sessionGone
      case .sourceChanged: .sourceChanged
      case .integrityMismatch: .damaged(chunk: chunk)
      case .chunkConflict: .damaged(chunk: nil)
      case .sourceMissing, .notFound, .remoteChanged, .lengthMismatch, .typeMismatch, .digestUnavailable,
        .tlsFailed, .policyDenied, .destinationExists, .permissionDenied, .ioError, .attributesLost,
        .attachFailed, .needsFailed, .internal:
        .permanent
      }
  }
}
