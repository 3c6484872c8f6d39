package import JobModel

/// Kii's error codes and what they mean here: the one table (wire facts A, Errors).
package enum KiiError {
  /// What can be done about a code goes behind its message.
  private static let table: [String: (code: ErrorCode, advice: String)] = [
    "OBJECT_NOT_FOUND": (
      .notFound, "there is no such object in the bucket; create it first: haul moves only its body"
    ),
    "BUCKET_NOT_FOUND": (.notFound, "there is no such bucket in this scope"),
    "OBJECT_BODY_NOT_FOUND": (.notFound, "the object has no body"),
    "OBJECT_BODY_UPLOAD_NOT_FOUND": (.sessionExpired, "the upload is gone"),
    "OBJECT_BODY_UPLOAD_ALREADY_EXISTS": (.chunkConflict, "there is such an upload already"),
    "OBJECT_BODY_RANGE_NOT_SATISFIABLE": (.rangeInvalid, "the transfer has ended at the server"),
    "OBJECT_BODY_INTEGRITY_NOT_ASSURED": (.integrityMismatch, "the upload is not of one file"),
    "OBJECT_VERSION_IS_STALE": (.remoteChanged, "the object was changed meanwhile"),
    "OBJECT_CONFLICT": (.remoteChanged, "the object was changed meanwhile"),
    "PUBLICATION_EXPIRED": (.notFound, "the publication has expired"),
    "LOCK_FAILED": (.serverError, ""),
    "QUERY_TIMEOUT": (.serverError, ""),
    "TEMPORARY_UNAVAILABLE_ERROR": (.serverError, ""),
  ]

  /// The `errorCode` of an answer's body.
  package static func word(_ response: Response) -> String? {
    response.object?["errorCode"].string
  }

  package static func failure(_ response: Response, doing what: String, now: Double) -> Failure {
    var failure = HTTPFailure.of(response, doing: what, now: now)
    guard let word = word(response) else { return failure }
    failure.message += " \(word)"
    guard let meaning = table[word] else { return failure }
    failure.code = meaning.code
    if !meaning.advice.isEmpty { failure.message += ": \(meaning.advice)" }
    return failure
  }

  /// A refusal of an upload's request: the session may be gone with it.
  static func upload<Value>(_ response: Response, doing what: String, now: Double) -> Result<Value, Failure> {
    var failure = failure(response, doing: what, now: now)
    // "Transfer has terminated, please start transfer again", the SDK says.
    if failure.code == .rangeInvalid { failure.code = .sessionExpired }
    // Nothing is locked: the last commit wins, also over whoever changed the object meanwhile.
    if failure.code == .remoteChanged { failure.class = .objectChanged }
    return .failure(failure)
  }
}
