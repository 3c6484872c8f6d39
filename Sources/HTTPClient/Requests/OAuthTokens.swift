import Digests
import Endpoints
import JobModel

/// Access tokens of OAuth 2 grants (RFC 6749), kept for the process and never stored; refresh tokens that the service
/// exchanges are kept for the next one, too. All transfers share a token, and
/// one request for a new one.
actor OAuthTokens {
  nonisolated private let executor: any SerialExecutor
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  private struct Held {
    var token: Secret
    /// Seconds since 1970; nil where only a refusal shows the end.
    var renewAt: Double?
  }
  /// A request for a token that somebody waits for.
  private struct Renewal {
    var id: Int
    var task: Task<Secret, any Error>
    var waiters = 0
  }

  private let transport: any Transport
  private let clock: EngineClock
  private let secrets: SecretSource
  private let mask: SecretMask
  private let kept: TokenKeeping
  private let remark: @Sendable (Diagnostic) -> Void
  private var held: [OAuth2: Held] = [:]
  /// Refresh tokens that the service gave in exchange for the configured ones.
  private var exchanged: [OAuth2: Secret] = [:]
  /// What the configured refresh tokens are kept under: a new one at the reference begins anew.
  private var keys: [OAuth2: String] = [:]
  /// Grants that the service has refused: it is not asked again for each transfer, which might lock the account.
  private var refused: [OAuth2: (failure: Failure, until: Double)] = [:]
  private var renewals: [OAuth2: Renewal] = [:]
  private var lastID = 0
  /// Seconds that a refusal holds for all.
  private static let refusalRest = 60.0

  /// - Parameter secrets: those that it gives are masked.
  init(
    transport: any Transport, clock: EngineClock, secrets: SecretSource, mask: SecretMask, kept: TokenKeeping,
    remark: @escaping @Sendable (Diagnostic) -> Void
  ) {
    executor = transport.executor
    self.transport = transport
    self.clock = clock
    self.secrets = secrets
    self.mask = mask
    self.kept = kept
    self.remark = remark
  }

  /// Forgets the access token: the next request asks for a new one.
  func forget(_ grant: OAuth2) { held[grant] = nil }

  /// A token that is good now.
  ///
  /// - Parameter policy: the network policy that the token request keeps to.
  /// - Throws: `UNAUTHORIZED` in the service's words, `SECRET_UNAVAILABLE`, or what the network says.
  func token(_ grant: OAuth2, for endpoint: Endpoint, policy: EffectivePolicy) async throws -> Secret {
    let now = clock.now()
    if let held = held[grant], held.renewAt.map({ now < $0 }) ?? true { return held.token }
    if let refusal = refused[grant] {
      if now < refusal.until { throw refusal.failure }
      refused[grant] = nil
    }
    var renewal = renewals[grant] ?? begin(grant, endpoint, policy)
    renewal.waiters += 1
    renewals[grant] = renewal
    let (id, task) = (renewal.id, renewal.task)
    return try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      // Nobody else's token is lost when one transfer is paused; the last one out ends the request.
      Task { await self.leave(grant, id) }
    }
  }

  private func leave(_ grant: OAuth2, _ id: Int) {
    guard var renewal = renewals[grant], renewal.id == id else { return }
    renewal.waiters -= 1
    renewals[grant] = renewal
    guard renewal.waiters <= 0 else { return }
    renewal.task.cancel()
    renewals[grant] = nil
  }

  private func begin(_ grant: OAuth2, _ endpoint: Endpoint, _ policy: EffectivePolicy) -> Renewal {
    lastID += 1
    let id = lastID
    let task = Task {
      defer { if renewals[grant]?.id == id { renewals[grant] = nil } }
      return try await renew(grant, endpoint, policy)
    }
    return Renewal(id: id, task: task)
  }

  private func renew(_ grant: OAuth2, _ endpoint: Endpoint, _ policy: EffectivePolicy) async throws -> Secret
  {
    guard let url = WebURL(grant.tokenURL) else {
      throw Failure(.internal, "the token endpoint's URL can't be read")
    }
    let target = try AdmittedURL(url, for: TokenRequest.method, policy: policy)
    try await takeKept(grant, target)
    let hadExchanged = exchanged[grant] != nil
    var granted: Result<TokenResponse, Failure> = try await ask(grant, target)
    if case .failure(let failure) = granted, failure.code == .unauthorized, hadExchanged {
      // The one in exchange is used up: somebody may have put a new one where the manifest points.
      exchanged[grant] = nil
      granted = try await ask(grant, target)
    }
    switch granted {
    case .success(let response):
      mask.learn(response.accessToken)
      if let refresh = response.refreshToken { mask.learn(refresh) }
      let now = clock.now()
      // Early enough that no request begins with a token that ends on its way.
      let renewAt = response.lifetime.map { now + $0 - min(60, $0 / 5) }
      held[grant] = Held(token: response.accessToken, renewAt: renewAt)
      if let refresh = response.refreshToken, grant.grant == .refreshToken {
        exchanged[grant] = refresh
        await keep(refresh, for: grant)
      }
      compare(response.instance, endpoint)
      return response.accessToken
    case .failure(let failure):
      if failure.code == .unauthorized {
        refused[grant] = (failure, clock.now() + Self.refusalRest)
      }
      throw failure
    }
  }

  /// The token that an earlier process got in exchange for the configured one.
  private func takeKept(_ grant: OAuth2, _ target: AdmittedURL) async throws {
    guard grant.grant == .refreshToken, exchanged[grant] == nil, let reference = grant.refreshToken else {
      return
    }
    let configured = try await secrets.resolve(reference)
    let parts = [target.url.text, grant.clientID ?? "", configured.reveal()]
    let key = try Digest.hex(of: Array(parts.joined(separator: "\0").utf8), .sha256)
    keys[grant] = key
    guard let token = kept.read(key) else { return }
    mask.learn(token)
    exchanged[grant] = token
  }

  private func keep(_ token: Secret, for grant: OAuth2) async {
    guard let key = keys[grant] else { return }
    do { try await kept.write(key, token) } catch {
      remark(
        Diagnostic(
          .warning, "the refresh token that \(grant.tokenURL) gave in exchange can't be kept: \(error)",
          hint: "the next run needs a new one where `refresh_token` points"))
    }
  }

  private func ask(_ grant: OAuth2, _ target: AdmittedURL) async throws -> Result<TokenResponse, Failure> {
    let given = try await secrets(of: grant)
    let request = TokenRequest.of(grant, target.url, given)
    guard case .bytes(let form) = request.body else {
      throw Failure(.internal, "a token request has no form")
    }
    let sink = ResponseBuffer(limit: 1 << 20)
    try await transport.send(
      WireRequest(request.method, target, headers: request.headers, body: .bytes(form)), sink: sink)
    guard let head = sink.responseHead else {
      throw Failure(.protocolViolation, "\(request.url) did not answer")
    }
    var body = sink.bytes
    if let assertion = given.assertion {
      // Made for this request alone: the mask of all would grow with each.
      let own = SecretMask()
      own.learn(plain: assertion.reveal())
      body = Array(own.masked(String(decoding: body, as: UTF8.self)).utf8)
    }
    let response = Response(head: head, body: body, url: request.url)
    return TokenResponse.read(response, for: grant, now: clock.now())
  }

  /// Resolved anew for each token: they are used that seldom.
  private func secrets(of grant: OAuth2) async throws -> TokenRequest.Secrets {
    var secrets = TokenRequest.Secrets()
    if let reference = grant.clientSecret {
      secrets.clientSecret = try await self.secrets.resolve(reference)
    }
    if grant.grant == .refreshToken, let reference = grant.refreshToken {
      secrets.refreshToken =
        if let newer = exchanged[grant] { newer } else { try await self.secrets.resolve(reference) }
    }
    if grant.grant == .jwtBearer, let jwt = grant.jwt {
      let pem = try await self.secrets.resolve(jwt.key)
      let input = JWTClaims.signingInput(jwt, now: clock.now())
      guard let signature = try? RSASignature.sha256(Array(input.utf8), pem: pem.reveal()) else {
        throw Failure(
          .secretUnavailable,
          "the `key` of the `jwt_bearer` grant is not a private RSA key in PEM, or a passphrase guards it")
      }
      secrets.assertion = Secret("\(input).\(JWTClaims.encode(signature))")
    }
    return secrets
  }

  /// A token that is asked for at another instance than the one that is used is refused there.
  private func compare(_ instance: WebURL?, _ endpoint: Endpoint) {
    guard let instance, let used = WebURL(endpoint.url), instance.origin != used.origin else { return }
    remark(
      Diagnostic(
        .warning,
        "the tokens of the endpoint `\(endpoint.name)` are for \(instance.origin), not for \(used.origin)",
        hint: "set `url: \(instance.origin)` if requests are refused"))
  }
}
