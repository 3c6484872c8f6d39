package import JobModel

/// What an answer means.
package enum Verdict<Value: Sendable>: Sendable {
  case value(Value)
  /// The request failed; the failure's class says what may be done next.
  case failure(Failure)

  /// - Throws: the failure.
  package func get() throws(Failure) -> Value {
    switch self {
    case .value(let value): return value
    case .failure(let failure): throw failure
    }
  }
}
