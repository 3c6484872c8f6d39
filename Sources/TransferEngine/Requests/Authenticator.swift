import JobModel
import Protocols

/// Puts an endpoint's credentials and the configured headers on requests. Secrets are resolved when they are first
/// used, and again when the server refuses them.
actor Authenticator {
  nonisolated private let executor: any SerialExecutor
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
  private let secrets: SecretSource
  private var known: [SecretReference: Secret] = [:]

  init(secrets: SecretSource, executor: any SerialExecutor) {
    self.secrets = secrets
    self.executor = executor
  }

  /// Forgets what was resolved for an endpoint, so that the next request asks anew.
  func forget(_ endpoint: Endpoint) {
    forget(endpoint.authentication)
    for header in endpoint.kind.headers {
      if case .secret(let reference) = header.value { known[reference] = nil }
    }
  }

  private func forget(_ authentication: Authentication) {
    switch authentication {
    case .bearer(let reference), .basic(_, let reference), .header(_, let reference): known[reference] = nil
    case .none, .netrc, .aws, .oauth2: break
    }
  }

  /// Puts an endpoint's credential on a request that is otherwise complete.
  func authorise(
    _ method: String, _ url: WebURL, _ headers: inout HeaderList, for endpoint: Endpoint
  ) async throws {
    switch endpoint.authentication {
    case .none: break
    case .bearer(let reference):
      headers.set("Authorization", "Bearer \(try await value(reference))", isSecret: true)
    case .basic(let user, let reference):
      let pair = "\(user):\(try await value(reference))"
      headers.set("Authorization", "Basic \(Base64.encode(Array(pair.utf8)))", isSecret: true)
    case .header(let name, let reference):
      headers.set(name, try await value(reference), isSecret: true)
    case .netrc, .aws, .oauth2:
      throw Failure(.unauthorized, "this form of `auth` is not yet in effect")
    }
  }

  func add(_ settings: [HeaderSetting], to headers: inout HeaderList) async throws {
    for setting in settings {
      switch setting.value {
      case .text(let text): headers.set(setting.name, text)
      case .secret(let reference):
        headers.set(setting.name, try await value(reference), isSecret: true)
      }
    }
  }

  private func value(_ reference: SecretReference) async throws -> String {
    if let secret = known[reference] { return secret.reveal() }
    let secret = try await secrets.resolve(reference)
    guard !secret.reveal().utf8.contains(where: { $0 == 10 || $0 == 13 || $0 == 0 }) else {
      throw Failure(.secretUnavailable, "a secret has a line break or NUL in it, which no header can carry")
    }
    known[reference] = secret
    return secret.reveal()
  }
}
