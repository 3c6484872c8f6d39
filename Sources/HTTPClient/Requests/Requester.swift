package import Admission
package import Endpoints
package import JobModel

/// Makes requests of one transfer: credentials, headers, redirects, the renewal of a refused credential, counts.
///
/// Belongs to one transfer's actor.
package final class Requester {
  /// What was sent since the last count.
  package struct Tally {
    package var requests = 0
    package var retries = 0
    package var lastStatus: Int?
  }

  /// Seconds for which a host that gave no answer to a cleanup request is sent no other one.
  static let silence = 30.0

  let context: ClientContext
  private let endpoint: Endpoint?
  private let renewal: CredentialRenewal
  private var retry: RetryPolicy
  let remote: any RemoteProtocol
  var settings: TransferSettings
  var isCleanup: Bool { retry.isCleanup }
  private let throttle: Throttle
  package let transfer: TransferPermit?
  package private(set) var tally = Tally()
  /// Tries of one request.
  var attempts: Int { retry.attempts }
  private let signed: SignedURL?
  let secrets = QuerySecrets()
  /// Its requests are halves of streams (`WireRequest.isPaired`).
  package var isPaired = false
  /// A listing has told that what it reads is a file.
  package var isListed = false
  private let retried: (_ delay: Double, Failure) -> Void
  /// Whom the last request went to.
  private var origin = ""

  /// - Parameters:
  ///   - transfer: nil where none asks.
  ///   - retried: told that a request is to be made again, and in how many seconds.
  package init(
    _ context: ClientContext, endpoint: Endpoint?, remote: any RemoteProtocol = HTTPErrors(),
    settings: TransferSettings, throttle: Throttle, transfer: TransferPermit? = nil,
    signed: SignedURL? = nil, retried: @escaping (_ delay: Double, Failure) -> Void = { _, _ in }
  ) {
    self.context = context
    self.endpoint = endpoint
    renewal = CredentialRenewal(endpoint, context.authenticator)
    retry = RetryPolicy(settings.policy)
    self.remote = remote
    self.settings = settings
    self.throttle = throttle
    self.transfer = transfer
    self.signed = signed
    self.retried = retried
  }

  /// One for cleaning up: it waits some seconds at most, and for no host.
  ///
  /// - Parameter tries: of each request; 1 where a request that is made again may leave more behind.
  func hasty(tries: Int? = nil) -> Requester {
    let hasty = Requester(
      context, endpoint: endpoint, remote: remote, settings: settings, throttle: throttle, signed: signed)
    hasty.retry = RetryPolicy.cleanup(settings.policy)
    if let tries { hasty.retry.attempts = tries }
    hasty.settings.policy.connectTimeout = min(2, settings.policy.connectTimeout)
    hasty.settings.policy.requestTimeout = min(2, settings.policy.requestTimeout)
    return hasty
  }

  /// One whose requests are halves of streams; its counts are its own.
  package func paired() -> Requester {
    let paired = Requester(
      context, endpoint: endpoint, remote: remote, settings: settings, throttle: throttle, transfer: transfer,
      signed: signed, retried: retried)
    paired.isPaired = true
    return paired
  }

  /// Bytes a second of the tightest rate limit that its requests stand under; nil where there is none.
  package func rate(_ direction: Direction) -> Double? { throttle.rate(direction) }

  /// A budget that its bodies are paid from is used up.
  package var isSpent: Bool { throttle.isSpent }

  /// Puts bytes of the budgets aside (`Throttle.reserve`); false where too few are left.
  package func reserve(_ bytes: Int64) -> Bool { throttle.reserve(bytes) }

  /// Bytes of the budgets are put aside for somebody.
  package var isPromised: Bool { throttle.isPromised }

  /// For kinds that do not speak HTTP.
  var services: EngineServices {
    EngineServices(
      authentication: endpoint?.authentication ?? .none, policy: settings.policy, requests: self,
      isListed: isListed, sftp: context.sftp, secret: context.secrets.resolve, now: context.clock.now,
      remark: context.remark)
  }

  var directPolicy: EffectivePolicy { settings.policy }
  var directThrottle: Throttle { throttle }
  var directPermit: TransferPermit? { transfer }
  var endpointName: String? { endpoint?.name }

  func countRequest(to url: WebURL) {
    tally.requests += 1
    origin = url.origin
  }

  func count(_ more: Tally) {
    tally.requests += more.requests
    tally.retries += more.retries
    tally.lastStatus = more.lastStatus ?? tally.lastStatus
  }

  /// Gives the counts made since the last call.
  package func takeTally() -> Tally {
    defer { tally = Tally() }
    return tally
  }

  /// Sends a control request and gives its whole answer, whatever its status; passing faults are retried.
  ///
  /// - Parameter asksWhy: a refusal without a reason is asked for one (`RemoteProtocol.question`).
  nonisolated(nonsending) func call(_ request: Request, asksWhy: Bool = false) async throws -> Response {
    guard isCleanup else { return try await response(to: request, asksWhy: asksWhy) }
    // A thousand sessions on a silent host are not aborted one by one.
    let host = CooldownStore.Key.silence(request.url.origin)
    if let silence = await context.admission.cooldown(host) { throw silence }
    do { return try await response(to: request, asksWhy: asksWhy) } catch {
      let failure = Failure(error)
      if failure.isSilence { await context.admission.coolDown(host, for: Self.silence, failure) }
      throw error
    }
  }

  private nonisolated(nonsending) func response(to request: Request, asksWhy: Bool) async throws -> Response {
    try await retrying { try await self.attempt(request, asksWhy: asksWhy) }
  }

  /// One try of a control request: a passing fault is thrown, for `retrying`.
  nonisolated(nonsending) func attempt(_ request: Request, asksWhy: Bool = false) async throws -> Response {
    var response = try await once(request)
    if asksWhy, remote.refuses(response), let question = remote.question(after: response, to: request) {
      response = try await askForHead(question)
      // An empty object has no first byte.
      if response.status == 416 { return response }
    }
    try refusePassing(response, to: request)
    return response
  }

  /// - Throws: a passing fault, for `retrying`.
  func refusePassing(_ response: Response, to request: Request) throws {
    guard remote.refuses(response) else { return }
    let failure = remote.refusal(response, doing: request.method, now: context.clock.now())
    if mayPass(failure) { throw failure }
  }

  /// Sends a control request once and gives its whole answer, whatever its status.
  ///
  /// - Parameter limit: bytes that the answer may have; nil for as many as the protocol needs.
  nonisolated(nonsending) func once(_ request: Request, limit: Int? = nil) async throws -> Response {
    let sink = ResponseBuffer(limit: limit ?? remote.longestResponse)
    let url = try await send(request, body: .none, isShort: true) { sink }
    guard let head = sink.responseHead else {
      throw Failure(.protocolViolation, "\(request.method) \(request.url) was not answered")
    }
    return received(head, sink.bytes, from: url)
  }

  /// An answer; a refusal's text without what it echoes of secrets: a message may cut it amid one, and no mask finds half.
  func received(_ head: ResponseHead, _ body: [UInt8], from url: WebURL) -> Response {
    guard head.status >= 300, !body.isEmpty else { return Response(head: head, body: body, url: url) }
    let text = String(decoding: body, as: UTF8.self)
    let masked = context.mask.masked(secrets.all.masked(text))
    return Response(head: head, body: masked == text ? body : Array(masked.utf8), url: url)
  }

  /// Sends a GET and gives the head of its answer, and the text of a refusal.
  ///
  /// - Parameter readsBody: false ends the request with the head, also where the body is the one that was asked for.
  nonisolated(nonsending) func head(of request: Request, readsBody: Bool = true) async throws -> Response {
    try await retrying {
      let response = try await self.askForHead(request, readsBody: readsBody)
      if response.status >= 400, response.status != 416 {
        let failure = self.remote.refusal(response, doing: "probe", now: self.context.clock.now())
        if self.mayPass(failure) { throw failure }
      }
      return response
    }
  }

  /// It is not the caller's to judge yet.
  private func mayPass(_ failure: Failure) -> Bool {
    failure.class == .transient || retry.repeats(failure)
      || failure.class == .credentialExpired && renewal.hasCredential
  }

  private nonisolated(nonsending) func askForHead(
    _ request: Request, readsBody: Bool = true
  ) async throws -> Response {
    let sink = HeadOnlyWriter(readsBody: readsBody)
    do { try await send(request, body: .none) { sink } } catch is HeadOnlyWriter.Enough {}
    guard let head = sink.responseHead else {
      throw Failure(.protocolViolation, "\(request.url) did not answer")
    }
    return received(head, sink.text, from: request.url)
  }

  /// Tries until it works, a failure is for good, or the policy's attempts are used up.
  ///
  /// - Parameters:
  ///   - body: one try. After `.more` the count begins anew.
  ///   - recover: looks at a failure first, mends what the transfer itself can mend, and may count the try as progress.
  package nonisolated(nonsending) func retrying<Value>(
    _ body: nonisolated(nonsending) (_ tries: Int) async throws -> Attempt<Value>,
    recover: nonisolated(nonsending) (Failure, _ tries: Int) async throws -> Recovery<Value> = { _, _ in
      .none
    }
  ) async throws -> Value {
    var tries = 1
    var isCounted = false
    var credential = await renewal.use()
    while true {
      do {
        switch try await body(tries) {
        case .done(let value): return value
        case .more:
          (tries, isCounted) = (1, false)
          credential = await renewal.use()
        }
      } catch {
        var failure = try Self.failure(error)
        // A retry that was not sent, as its host is not tried any more, is none; a full disk is found behind it.
        if isCounted, failure.class == .deferred, failure.code != .diskFull { tally.retries -= 1 }
        isCounted = false
        if !secrets.isEmpty { failure = failure.without(secrets.credentials) }
        switch try await recover(failure, tries) {
        case .done(let value): return value
        case .again: continue
        case .remainder:
          tries = 1
          try await take(
            retry.again(after: failure, tries: 0, random: context.clock.random()), after: failure)
          isCounted = !isCleanup
          continue
        case .progress: tries = 1
        case .none: break
        }
        let step = retry.next(
          after: failure, tries: tries, mayRenew: renewal.mayRenew(credential), random: context.clock.random()
        )
        guard step != .renewCredential else {
          await renew(&credential)
          continue
        }
        try await take(step, after: failure)
        (tries, isCounted) = (tries + 1, !isCleanup)
      }
    }
  }

  /// Sends until `body` gives a value.
  package nonisolated(nonsending) func retrying<Value>(
    _ body: nonisolated(nonsending) () async throws -> Value
  ) async throws -> Value {
    try await retrying { _ in .done(try await body()) }
  }

  private nonisolated(nonsending) func renew(_ credential: inout CredentialRenewal.Use) async {
    if let diagnostic = await renewal.renew(&credential) { context.remark(diagnostic) }
  }

  /// Waits before an upload opens another session, after so many were lost.
  package nonisolated(nonsending) func wait(after failure: Failure, lost: Int) async throws {
    try await take(retry.again(after: failure, tries: lost, random: context.clock.random()), after: failure)
  }

  /// Waits as the policy says, and says so.
  private nonisolated(nonsending) func take(_ step: RetryPolicy.Step, after failure: Failure) async throws {
    switch step {
    case .renewCredential, .giveUp: throw failure
    case .coolDown(let seconds):
      // A server that wants an hour's cool-down gets it: the transfer pauses, and the run goes on with the others.
      noteCooldown(failure)
      if let endpoint {
        // For others it is a cool-down, whatever it was for this request.
        let cooldown = failure.classed(.transient)
        await context.admission.coolDown(.endpoint(endpoint.name), for: seconds, cooldown)
      }
      throw failure
    case .repeatRequest(let delay) where isCleanup: try await context.transport.sleep(seconds: delay)
    case .repeatRequest(let delay):
      noteCooldown(failure)
      tally.retries += 1
      retried(delay, failure)
      do {
        try await context.admission.pause(
          transfer, seconds: delay, isCooldown: failure.retryAfter != nil)
      } catch {
        // It is not made any more.
        tally.retries -= 1
        throw error
      }
    }
  }

  /// Records what a server asked for, so that a run that is started again keeps to it.
  private func noteCooldown(_ failure: Failure) {
    guard let seconds = failure.retryAfter, seconds >= 1, !origin.isEmpty else { return }
    let now = context.clock.now()
    context.noteCooldown(origin, now + seconds, now)
  }

  /// The failure in an error; rethrows a cancellation.
  package static func failure(_ error: any Error) throws -> Failure {
    if error is CancellationError { throw error }
    return Failure(error)
  }

  /// Sends a request, follows redirects, and renews the credential once on 401. `sink` makes a fresh sink a try.
  ///
  /// - Returns: the URL that answered.
  @discardableResult
  nonisolated(nonsending) func send(
    _ request: Request, body: WireRequest.Body, isShort: Bool = false, sink: () -> any BodyWriter
  ) async throws -> WebURL {
    var hasRenewed = false
    var mayRenewURL = signed?.replaces(request.url) ?? false
    // What redirects to a signed URL gives another one where that has ended on the way.
    var mayAskAnew = request.method == "GET"
    var url = signed?.replacing(request.url) ?? request.url
    var redirects = 0
    if request.isAuthorised, !isCleanup, let endpoint,
      let failure = await context.admission.cooldown(.endpoint(endpoint.name))
    {
      throw failure
    }
    var hasLeft = false
    while true {
      // Before a secret is asked for, and after each redirect.
      let target = try AdmittedURL(url, for: request.method, sharing: settings.sharedPolicy)
      // Another origin may send us back to a place of its choice: our secrets are not for that either.
      hasLeft = hasLeft || url.origin != request.url.origin
      // What haul itself asks an endpoint in a query is no secret.
      if endpoint == nil || !request.isAuthorised || url.query != request.url.query {
        secrets.learn(url.query)
      }
      let credential = await renewal.use()
      var wire = try await prepare(request, target, body: body, keepsSecrets: !hasLeft)
      wire.isShort = isShort
      let guarded = RedirectWriter(
        origin: url, method: request.method,
        canRenew: !hasRenewed && request.isAuthorised && renewal.hasCredential
          && url.origin == request.url.origin,
        canRenewURL: redirects == 0 ? mayRenewURL : mayAskAnew && url.query != nil,
        followsRedirect: remote.follows,
        inner: sink())
      tally.requests += 1
      origin = url.origin
      do {
        // Also where the answer is not read to its end.
        defer { tally.lastStatus = guarded.status ?? tally.lastStatus }
        try await context.transport.send(wire, sink: guarded)
      } catch is RedirectWriter.Enough {
        // Its status says what it means.
      } catch is NeverAdmitted {
        tally.requests -= 1
        throw CancellationError()
      } catch is PermitLost {
        try rewind(body)
        continue
      } catch let error as TransportError where error.isOurs || error.failure.class == .deferred {
        // Nothing was sent: its host is not tried, or may not be.
        tally.requests -= 1
        throw error
      }
      if let status = guarded.status, status >= 400 {
        renewal.clockOffset = guarded.date.map { $0 - context.clock.now() }
      }
      switch guarded.detour {
      case nil: return url
      case .renewal:
        hasRenewed = true
        // A body that can't be rewound goes with the next try, which is to have another credential.
        await renewal.forget(credential)
        try rewind(body)
      case .refusedURL where redirects > 0:
        mayAskAnew = false
        (url, redirects, hasLeft) = (signed?.replacing(request.url) ?? request.url, 0, false)
        try rewind(body)
      case .refusedURL:
        // Once a request; where the row has no other one, the refusal counts.
        mayRenewURL = false
        if let signed, try await signed.renew(after: url) { url = signed.current }
        try rewind(body)
      case .redirect(let target):
        redirects += 1
        guard redirects <= settings.policy.redirects else {
          throw Failure(
            .policyDenied, "\(request.url) redirects more than \(settings.policy.redirects) times")
        }
        guard !(url.scheme == "https" && target.scheme == "http") else {
          throw Failure(
            .policyDenied, "\(url) redirects from https to \(target); haul does not follow https to http")
        }
        url = target
        try rewind(body)
      }
    }
  }

  private func rewind(_ body: WireRequest.Body) throws {
    if case .source(let source, _) = body { try source.rewind() }
  }

  private nonisolated(nonsending) func prepare(
    _ request: Request, _ target: AdmittedURL, body: WireRequest.Body, keepsSecrets: Bool
  ) async throws -> WireRequest {
    var headers = request.headers
    // Headers of policy and endpoint are defaults; what the transfer says wins.
    if request.isAuthorised {
      try await context.authenticator.add(
        settings.policy.headers + (endpoint?.headers ?? []), to: &headers, for: target)
      try await context.authenticator.add(settings.headers, to: &headers, for: target)
    }
    // haul decodes none, and to who hears nothing of it any will do (RFC 9110, 12.5.3).
    if headers["Accept-Encoding"] == nil { headers.append("Accept-Encoding", "identity") }
    var signAnew: (@Sendable () throws -> HeaderList)?
    // Credentials and secret headers stay with the origin that they were given for.
    if !keepsSecrets {
      headers.removeSecrets()
    } else if request.isAuthorised, let endpoint {
      try await context.authenticator.add(endpoint.driver.headers, to: &headers, for: target)
      signAnew = try await context.authenticator.authorise(request.method, target, &headers, for: endpoint)
    }
    let wireBody: WireRequest.Body
    switch request.body {
    case .none: wireBody = body
    case .bytes(let bytes): wireBody = .bytes(bytes)
    case .source: wireBody = body
    }
    var wire = WireRequest(request.method, target, headers: headers, body: wireBody)
    wire.signAnew = signAnew
    wire.throttle = throttle
    wire.transfer = transfer
    wire.isCleanup = isCleanup
    wire.isPaired = isPaired
    wire.isCounted = true
    return wire
  }
}

/// Refusals in HTTP's own words, for requests that no protocol value speaks for.
package struct HTTPErrors: RemoteProtocol {
  package init() {}
}
