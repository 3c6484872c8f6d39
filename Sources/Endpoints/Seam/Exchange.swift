package import JobModel

/// Requests that make one step of a protocol together: each follows from the answer before it. A value, begun anew after
/// a passing fault.
package protocol Exchange: Sendable {
  /// - Parameter response: to the request before; nil at the beginning.
  /// - Throws: `Failure` where the answers leave nothing to ask for.
  mutating func next(after response: Response?, now: Double) throws(Failure) -> ExchangeStep
}

/// What an exchange does next.
package enum ExchangeStep: Sendable, Hashable {
  case send(Request)
  /// The answer that counts for the whole.
  case end(Response)
}
