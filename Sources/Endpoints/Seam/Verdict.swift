package import JobModel

/// What an answer means.
package enum Verdict<Value: Sendable>: Sendable {
  case value(Value)
  /// The request failed; `failure.code` says whether trying again makes sense.
  case failure(Failure)
  /// The upload session is gone: a new one has to be opened.
  case sessionLost(Failure)
}
