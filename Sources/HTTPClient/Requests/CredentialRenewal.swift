import Endpoints
import JobModel

/// The credential that one transfer's requests are made with, and its renewal: once for each request, and for all
/// transfers of the endpoint together.
///
/// Belongs to one transfer's actor.
final class CredentialRenewal {
  /// Which credential one request's tries begin with, and whether it was renewed for them.
  struct Use {
    fileprivate var generation = 0
    fileprivate var hasRenewed = false
  }

  let hasCredential: Bool
  /// By how many seconds the server's clock was ahead of ours in its last refusal.
  var clockOffset: Double?
  private let endpoint: Endpoint?
  private let authenticator: Authenticator

  init(_ endpoint: Endpoint?, _ authenticator: Authenticator) {
    self.endpoint = endpoint
    self.authenticator = authenticator
    hasCredential = endpoint.map { $0.authentication != .none || !$0.driver.headers.isEmpty } ?? false
  }

  nonisolated(nonsending) func use() async -> Use {
    guard let endpoint, hasCredential else { return Use() }
    return Use(generation: await authenticator.generation(endpoint.authentication))
  }

  func mayRenew(_ use: Use) -> Bool { hasCredential && !use.hasRenewed }

  /// Forgets an expired credential, unless others have done so since.
  nonisolated(nonsending) func forget(_ use: Use) async {
    if let endpoint { await authenticator.forget(endpoint, since: use.generation) }
  }

  /// Forgets the credential, and signs with the server's time from now on where this machine's clock is wrong.
  ///
  /// - Returns: what to tell the user of the clock.
  nonisolated(nonsending) func renew(_ use: inout Use) async -> Diagnostic? {
    guard let endpoint else { return nil }
    use.hasRenewed = true
    use.generation = await authenticator.forget(endpoint, since: use.generation)
    guard let offset = clockOffset, await authenticator.follow(clockOffset: offset, of: endpoint) else {
      return nil
    }
    let minutes = Int(clamping: (abs(offset) / 60).rounded())
    return Diagnostic(
      .warning,
      "this machine's clock is \(minutes) minutes \(offset < 0 ? "ahead of" : "behind") that of `\(endpoint.name)`: its requests are signed with the server's time",
      hint: "set the clock")
  }
}
