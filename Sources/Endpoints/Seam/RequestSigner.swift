package import JobModel

/// Signs requests with keys that are fetched and renewed elsewhere.
package protocol RequestSigner: Sendable {
  /// What stands before a signature's digits in what `sign` puts on requests.
  var signatureLabel: String { get }

  /// Puts what proves the keys on a request that is otherwise complete.
  ///
  /// - Parameter time: seconds since 1970.
  func sign(
    _ method: String, _ url: WebURL, _ headers: inout HeaderList, with keys: AWSKeys, at time: Double
  ) throws(Failure)
  /// Asks for the keys of a role; signed with the keys that may assume it.
  func request(for role: AWSRole, signedWith keys: AWSKeys, at time: Double) throws(Failure) -> Request
  /// The role's keys, by the answer to that.
  ///
  /// - Parameter now: seconds since 1970.
  func keys(of role: AWSRole, in response: Response, now: Double) -> Result<AWSKeys, Failure>
}
