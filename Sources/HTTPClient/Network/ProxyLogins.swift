import Endpoints
import JobModel
import Locks

/// Addresses of proxies with the user and the password that they ask for, as libcurl takes them.
final class ProxyLogins: Sendable {
  private let secrets: SecretSource?
  private let known = Locked<[SecretReference: (password: Secret, at: ContinuousClock.Instant)]>([:])
  /// Seconds for which a password counts before it is looked up again: it may have been changed.
  private static let life = 60

  init(_ secrets: SecretSource?) { self.secrets = secrets }

  nonisolated(nonsending) func address(
    of url: String, user: String, password: SecretReference
  ) async throws -> String {
    guard let mark = url.firstRange(of: "://"), let secrets else {
      throw Failure(.internal, "the proxy `\(url)` can't be asked with a password here")
    }
    let secret: Secret
    let now = ContinuousClock.now
    if let held = known.withLock({ $0[password] }), now - held.at < .seconds(Self.life) {
      secret = held.password
    } else {
      secret = try await secrets.resolve(password)
      known.withLock { $0[password] = (secret, now) }
    }
    let login = [user, secret.reveal()].map { WebURL.encode($0, keepingSlash: false) }.joined(separator: ":")
    return url[..<mark.upperBound] + login + "@" + url[mark.upperBound...]
  }
}
