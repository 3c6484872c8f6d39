package import JobModel

/// What an answer means.
package enum Verdict<Value: Sendable>: Sendable {
  case value(Value)
  /// The request failed; the failure's class says what may be done next.
  case failure(Failure)
}
