import Endpoints
import JobModel

/// Puts an endpoint's credentials and the configured headers on requests. Secrets are resolved when they are first
/// used, and again when the server refuses them.
actor Authenticator {
  nonisolated private let executor: any SerialExecutor
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }
  private let secrets: SecretSource
  private let clock: EngineClock
  private let transport: any Transport
  private let oauth: OAuthTokens
  private let mask: SecretMask
  private var known: [SecretReference: Secret] = [:]
  private var logins: [String: NetrcLogin] = [:]
  private var keys: [AWSCredentials: KeyLease] = [:]
  /// Seconds that an endpoint's clock is ahead of ours, where that is more than signatures bear.
  private var clockOffsets: [String: Double] = [:]
  /// How often an endpoint's credential was renewed: tells whether a refused one is still the current one.
  private var generations: [Authentication: Int] = [:]

  /// - Parameter secrets: those that it gives are masked.
  init(
    transport: any Transport, clock: EngineClock, secrets: SecretSource, mask: SecretMask, oauth: OAuthTokens
  ) {
    executor = transport.executor
    self.transport = transport
    self.clock = clock
    self.secrets = secrets
    self.mask = mask
    self.oauth = oauth
  }

  /// The number of the credential in use.
  func generation(_ authentication: Authentication) -> Int { generations[authentication, default: 0] }

  /// Forgets what was resolved for an endpoint, so that the next request asks anew; not where another transfer has
  /// seen to that since `generation`.
  ///
  /// - Returns: the number of the credential that is used from now on.
  @discardableResult
  func forget(_ endpoint: Endpoint, since generation: Int) async -> Int {
    let authentication = endpoint.authentication
    let current = generations[authentication, default: 0]
    guard current == generation else { return current }
    generations[authentication] = current + 1
    for header in endpoint.driver.headers {
      if case .secret(let reference) = header.value { known[reference] = nil }
    }
    switch authentication {
    case .bearer(let reference), .basic(_, let reference), .header(_, let reference): known[reference] = nil
    case .netrc: logins = [:]
    case .oauth2(let grant): await oauth.forget(grant)
    case .aws(let credentials):
      keys[credentials] = nil
      if case .keys(let id, let secret, let token) = credentials {
        if case .secret(let reference) = id { known[reference] = nil }
        known[secret] = nil
        if let token { known[token] = nil }
      }
    // Its secrets are resolved for each connection.
    case .ssh, .none: break
    }
    return current + 1
  }

  /// Takes the server's clock for ours where they are too far apart for signatures; true where that is new.
  func follow(clockOffset: Double, of endpoint: Endpoint) -> Bool {
    guard case .aws = endpoint.authentication, abs(clockOffset - (clockOffsets[endpoint.name] ?? 0)) > 300
    else { return false }
    clockOffsets[endpoint.name] = clockOffset
    return true
  }

  /// Puts an endpoint's credential on a request that is otherwise complete.
  ///
  /// - Returns: what signs it anew with the same keys; nil where no signature is dated.
  @discardableResult
  func authorise(
    _ method: String, _ target: AdmittedURL, _ headers: inout HeaderList, for endpoint: Endpoint
  ) async throws -> (@Sendable () throws -> HeaderList)? {
    switch endpoint.authentication {
    case .none, .ssh: break
    case .bearer(let reference):
      headers.set("Authorization", "Bearer \(try await value(reference))", isSecret: true)
    case .basic(let user, let reference):
      basic(user, try await value(reference), &headers)
    case .header(let name, let reference):
      headers.set(name, try await value(reference), isSecret: true)
    case .netrc:
      let login = try await login(target.url.host)
      basic(login.user, login.password.reveal(), &headers)
    case .oauth2(let grant):
      let token = try await oauth.token(grant, for: endpoint, policy: target.policy)
      headers.set("Authorization", "Bearer \(token.reveal())", isSecret: true)
    case .aws(let credentials):
      guard let signer = endpoint.driver.signer else {
        throw Failure(
          .unauthorized, "`auth: aws` signs the requests of \(EndpointRegistry.signed) endpoints only")
      }
      let (clock, offset) = (clock, clockOffsets[endpoint.name] ?? 0)
      let keys = try await keys(credentials, for: signer, target.policy, at: clock.now() + offset)
      let sign = { @Sendable [headers] () throws -> HeaderList in
        var signed = headers
        try signer.sign(method, target.url, &signed, with: keys, at: clock.now() + offset)
        return signed
      }
      headers = try sign()
      return sign
    }
    return nil
  }

  private func basic(_ user: String, _ password: String, _ headers: inout HeaderList) {
    let pair = "\(user):\(password)"
    mask.learn(Secret(pair))
    headers.set("Authorization", "Basic \(Base64.encode(Array(pair.utf8)))", isSecret: true)
  }

  func add(
    _ settings: [HeaderSetting], to headers: inout HeaderList, for target: AdmittedURL
  ) async throws {
    for setting in settings {
      switch setting.value {
      case .text(let text): headers.set(setting.name, text)
      case .secret(let reference):
        headers.set(setting.name, try await value(reference), isSecret: true)
      }
    }
  }

  private func login(_ host: String) async throws -> NetrcLogin {
    if let login = logins[host] { return login }
    let login = try await secrets.netrc(host)
    logins[host] = login
    return login
  }

  /// Keys that are good for a while yet; many requests that need new ones wait for one renewal.
  ///
  /// - Parameters:
  ///   - signer: what they are for.
  ///   - policy: the network policy that a request for a role's keys keeps to.
  ///   - time: what such a request is signed with.
  private func keys(
    _ credentials: AWSCredentials, for signer: any RequestSigner, _ policy: EffectivePolicy, at time: Double
  ) async throws -> AWSKeys {
    if let lease = keys[credentials], !lease.isSpent(clock.now()) {
      return try await wait(for: lease.keys, of: credentials)
    }
    // A signature is good for minutes, and a server may repeat the header that carries it.
    mask.learn(label: signer.signatureLabel)
    let (secrets, began) = (secrets, clock.now())
    let task = Task {
      guard case .keys(let id, let secret, let token) = credentials else {
        let found = try await secrets.keys(credentials)
        guard let role = found.role else { return found }
        return try await self.keys(of: role, by: found, for: signer, policy, at: time)
      }
      var keys = AWSKeys(
        accessKeyID: try await self.text(id), secretAccessKey: Secret(try await self.value(secret)))
      if let token { keys.sessionToken = Secret(try await self.value(token)) }
      return keys
    }
    keys[credentials] = KeyLease(keys: task, began: began)
    do {
      let found = try await wait(for: task, of: credentials)
      if keys[credentials]?.keys == task { keys[credentials]?.expiresAt = found.expiresAt }
      return found
    } catch {
      if keys[credentials]?.keys == task { keys[credentials] = nil }
      throw error
    }
  }

  /// Nobody else's keys are lost when one transfer is stopped; the last one out ends their fetching.
  private func wait(
    for task: Task<AWSKeys, any Error>, of credentials: AWSCredentials
  ) async throws -> AWSKeys {
    keys[credentials]?.waiters += 1
    return try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      Task { await self.leave(task, credentials) }
    }
  }

  private func leave(_ task: Task<AWSKeys, any Error>, _ credentials: AWSCredentials) {
    guard keys[credentials]?.keys == task else { return }
    keys[credentials]?.waiters -= 1
    guard keys[credentials]?.waiters ?? 0 <= 0 else { return }
    // Who comes while it is torn down is not to wait for its failure.
    keys[credentials] = nil
    task.cancel()
  }

  private func keys(
    of role: AWSRole, by keys: AWSKeys, for signer: any RequestSigner, _ policy: EffectivePolicy,
    at time: Double
  ) async throws -> AWSKeys {
    let request = try signer.request(for: role, signedWith: keys, at: time)
    let target = try AdmittedURL(request.url, for: request.method, policy: policy)
    let body: WireRequest.Body = if case .bytes(let bytes) = request.body { .bytes(bytes) } else { .none }
    let sink = ResponseBuffer(limit: 1 << 20)
    try await transport.send(
      WireRequest(request.method, target, headers: request.headers, body: body), sink: sink)
    guard let head = sink.responseHead else {
      throw Failure(.protocolViolation, "\(request.url) did not answer")
    }
    let response = Response(head: head, body: sink.bytes, url: request.url)
    let found = try signer.keys(of: role, in: response, now: clock.now()).get()
    mask.learn(found)
    return found
  }

  private func text(_ value: TextOrSecret) async throws -> String {
    switch value {
    case .text(let text): text
    case .secret(let reference): try await self.value(reference)
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

/// Keys that are being fetched, or are there.
private struct KeyLease {
  let keys: Task<AWSKeys, any Error>
  /// Seconds since 1970.
  let began: Double
  var expiresAt: Double?
  var waiters = 0

  /// Near their end: a minute before it, or the last quarter of a shorter life.
  func isSpent(_ now: Double) -> Bool {
    guard let expiresAt else { return false }
    return expiresAt - now < min(60, max(0, expiresAt - began) / 4)
  }
}
