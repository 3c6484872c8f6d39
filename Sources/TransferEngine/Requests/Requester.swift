import JobLedger
import JobModel
import Endpoints

/// Makes requests of one transfer: credentials, headers, redirects, the renewal of a refused credential, counts.
///
/// Belongs to one transfer's actor.
final class Requester {
  struct Tally {
    var requests = 0
    var retries = 0
    var lastStatus: Int?
  }

  let context: EngineContext
  private let authenticator: Authenticator
  private let endpoint: Endpoint?
  private let hasCredential: Bool
  let remote: any RemoteProtocol
  private var settings: TransferSettings
  private var isFarewell = false
  private let throttle: Throttle
  private let slot: Slot?
  private let id: String
  private(set) var tally = Tally()
  /// By how many seconds the server's clock was ahead of ours in its last refusal.
  private var clockOffset: Double?
  private let live: LiveTransfer
  private let signed: SignedURL?
  /// Whom the last request went to.
  private var origin = ""

  init(
    context: EngineContext, authenticator: Authenticator, endpoint: Endpoint?,
    remote: any RemoteProtocol = HTTPRefusals(), settings: TransferSettings,
    throttle: Throttle, slot: Slot? = nil, id: String, live: LiveTransfer, signed: SignedURL? = nil
  ) {
    self.context = context
    self.authenticator = authenticator
    self.endpoint = endpoint
    hasCredential = endpoint.map { $0.authentication != .none || !$0.driver.headers.isEmpty } ?? false
    self.remote = remote
    self.settings = settings
    self.throttle = throttle
    self.slot = slot
    self.id = id
    self.live = live
    self.signed = signed
  }

  /// One that tries once, for some seconds, and waits for no host.
  func hasty() -> Requester {
    let hasty = Requester(
      context: context, authenticator: authenticator, endpoint: endpoint, remote: remote, settings: settings,
      throttle: throttle, id: id, live: live, signed: signed)
    hasty.isFarewell = true
    hasty.settings.policy.retryAttempts = 1
    hasty.settings.policy.connectTimeout = min(2, settings.policy.connectTimeout)
    hasty.settings.policy.requestTimeout = min(2, settings.policy.requestTimeout)
    return hasty
  }

  func count(_ more: Tally) {
    tally.requests += more.requests
    tally.retries += more.retries
    tally.lastStatus = more.lastStatus ?? tally.lastStatus
  }

  /// Gives the counts made since the last call.
  func takeTally() -> Tally {
    defer { tally = Tally() }
    return tally
  }

  /// Sends a control request and gives its whole answer, whatever its status; passing faults are retried.
  ///
  /// - Parameter asksWhy: a refusal without a reason is asked for one (`RemoteProtocol.question`).
  nonisolated(nonsending) func call(_ request: Request, asksWhy: Bool = false) async throws -> Answer {
    try await retrying {
      let sink = CollectingSink()
      let url = try await self.send(request, body: .none, isShort: true) { sink }
      guard let head = sink.answerHead else {
        throw Failure(.protocolViolation, "\(request.method) \(request.url) was not answered")
      }
      var answer = Answer(head: head, body: sink.bytes, url: url)
      if asksWhy, self.remote.refuses(answer),
        let question = self.remote.question(after: answer, to: request)
      {
        answer = try await self.askForHead(question)
        // An empty object has no first byte.
        if answer.status == 416 { return answer }
      }
      if self.remote.refuses(answer) {
        let failure = self.remote.refusal(answer, doing: request.method, now: self.context.clock.now())
        if Self.mayRetry(failure) || self.isExpiredCredential(failure) { throw failure }
      }
      return answer
    }
  }

  /// Sends a GET and gives the head of its answer, and the text of a refusal.
  ///
  /// - Parameter readsBody: false ends the request with the head, also where the body is the one that was asked for.
  nonisolated(nonsending) func head(of request: Request, readsBody: Bool = true) async throws -> Answer {
    try await retrying {
      let answer = try await self.askForHead(request, readsBody: readsBody)
      if answer.status >= 400, answer.status != 416 {
        let failure = self.remote.refusal(answer, doing: "probe", now: self.context.clock.now())
        if Self.mayRetry(failure) || self.isExpiredCredential(failure) { throw failure }
      }
      return answer
    }
  }

  private nonisolated(nonsending) func askForHead(
    _ request: Request, readsBody: Bool = true
  ) async throws -> Answer {
    let sink = HeadOnlySink(readsBody: readsBody)
    do { try await send(request, body: .none) { sink } } catch is HeadOnlySink.Enough {}
    guard let head = sink.answerHead else {
      throw Failure(.protocolViolation, "\(request.url) did not answer")
    }
    return Answer(head: head, body: sink.text, url: request.url)
  }

  /// Tries until it works, a failure is for good, or the policy's attempts are used up.
  nonisolated(nonsending) func retrying<Value>(
    _ body: nonisolated(nonsending) () async throws -> Value
  ) async throws -> Value {
    var attempt = 1
    var credential = await credentialUse()
    while true {
      do {
        return try await body()
      } catch {
        let failure = try Self.failure(error)
        if await renews(&credential, after: failure) { continue }
        guard Self.mayRetry(failure), attempt < settings.policy.retryAttempts else {
          throw failure
        }
        try await pause(after: failure, attempt: attempt)
        attempt += 1
      }
    }
  }

  /// A credential that the service calls expired under another status than 401, which `send` sees to itself.
  private func isExpiredCredential(_ failure: Failure) -> Bool {
    failure.code == .unauthorized && failure.httpStatus != 401 && hasCredential
  }

  /// Which credential one request's tries begin with, and whether it was renewed for them.
  struct CredentialUse {
    var generation: Int
    var hasRenewed = false
  }

  nonisolated(nonsending) func credentialUse() async -> CredentialUse {
    guard let endpoint, hasCredential else { return CredentialUse(generation: 0) }
    return CredentialUse(generation: await authenticator.generation(endpoint.authentication))
  }

  /// Forgets an expired credential, once, where others have not done so since; true where the request may be made
  /// again with a new one.
  nonisolated(nonsending) func renews(_ use: inout CredentialUse, after failure: Failure) async -> Bool {
    guard isExpiredCredential(failure), let endpoint, !use.hasRenewed else { return false }
    use.hasRenewed = true
    use.generation = await authenticator.forget(endpoint, since: use.generation)
    if let offset = clockOffset, await authenticator.follow(clockOffset: offset, of: endpoint) {
      let minutes = Int(clamping: (abs(offset) / 60).rounded())
      let diagnostic = Diagnostic(
        .warning,
        "this machine's clock is \(minutes) minutes \(offset < 0 ? "ahead of" : "behind") that of `\(endpoint.name)`: its requests are signed with the server's time",
        hint: "set the clock")
      // A listing belongs to no run.
      if context.run > 0 { context.writer.submit(.diagnostic(run: context.run, diagnostic)) }
      context.events(.diagnostic(diagnostic))
    }
    return true
  }

  /// Waits before try `attempt` + 1, and says so.
  nonisolated(nonsending) func pause(after failure: Failure, attempt: Int) async throws {
    // A server that wants an hour's rest gets it: the transfer pauses, and the run goes on with the others.
    noteRest(failure)
    let backoff = Backoff(settings.policy)
    if let wish = failure.retryAfter, wish > backoff.longestRest {
      if let endpoint { context.rests.note(endpoint.name, until: context.clock.now() + wish, failure) }
      throw failure
    }
    let delay = backoff.delay(
      afterAttempt: attempt, retryAfter: failure.retryAfter, random: context.clock.random())
    tally.retries += 1
    live.countRetry()
    context.events(.retry(id: id, delay: delay, failure: failure))
    // Others may move meanwhile.
    slot?.park()
    defer { slot?.unpark() }
    try await context.transport.sleep(seconds: delay)
  }

  /// Records what a server asked for, so that a run that is started again keeps to it.
  private func noteRest(_ failure: Failure) {
    guard let wish = failure.retryAfter, wish >= 1, !origin.isEmpty else { return }
    context.writer.submit(.rest(origin: origin, until: context.clock.now() + wish))
  }

  /// Faults of one request that another try may mend.
  static func mayRetry(_ failure: Failure) -> Bool {
    if failure.isGivenUp { return false }
    // What a client got wrong will not come right by saying it again.
    if failure.code == .protocolViolation, let status = failure.httpStatus, (400..<500).contains(status) {
      return false
    }
    return switch failure.code {
    case .networkUnreachable, .timeout, .serverError, .rateLimited, .protocolViolation, .rangeInvalid: true
    // A chunk that was refused by its hash is sent again.
    case .integrityMismatch: failure.chunk != nil
    case .diskFull, .secretUnavailable, .unauthorized, .forbidden, .sourceMissing, .sourceChanged, .notFound,
      .remoteChanged, .lengthMismatch, .typeMismatch, .chunkConflict, .digestUnavailable, .sessionExpired,
      .tlsFailed, .policyDenied, .destinationExists, .permissionDenied, .ioError, .needsFailed, .internal:
      false
    }
  }

  /// The failure in an error; rethrows what is no failure: cancellations and restarts.
  static func failure(_ error: any Error) throws -> Failure {
    switch error {
    case let failure as Failure: failure
    case let fault as TransportError: fault.failure
    case is CancellationError: throw error
    case is Restart: throw error
    default: Failure(.internal, "\(error)")
    }
  }

  /// Sends a request, follows redirects, and renews the credential once on 401. `sink` makes a fresh sink a try.
  ///
  /// - Returns: the URL that answered.
  @discardableResult
  nonisolated(nonsending) func send(
    _ request: Request, body: WireRequest.Body, isShort: Bool = false, sink: () -> any AnswerSink
  ) async throws -> WebURL {
    var hasRenewed = false
    var mayRenewURL = signed != nil
    var url = signed?.replacing(request.url) ?? request.url
    var redirects = 0
    if request.isAuthorised, let endpoint,
      let failure = context.rests.current(endpoint.name, now: context.clock.now())
    {
      throw failure
    }
    var hasLeft = false
    while true {
      // Before a secret is asked for, and after each redirect.
      let target = try AdmittedURL(url, for: request.method, policy: settings.policy)
      // Another origin may send us back to a place of its choice: our secrets are not for that either.
      hasLeft = hasLeft || url.origin != request.url.origin
      let generation = await credentialUse().generation
      var wire = try await prepare(request, target, body: body, keepsSecrets: !hasLeft)
      wire.isShort = isShort
      let guarded = RedirectSink(
        origin: url, method: request.method,
        canRenew: !hasRenewed && request.isAuthorised && hasCredential && url.origin == request.url.origin,
        canRenewURL: mayRenewURL && url == signed?.current, followsRedirects: remote.followsRedirects,
        inner: sink())
      tally.requests += 1
      origin = url.origin
      do {
        // Also where the answer is not read to its end.
        defer { tally.lastStatus = guarded.status ?? tally.lastStatus }
        try await context.transport.send(wire, sink: guarded)
      } catch is PlaceLost {
        try rewind(body)
        continue
      } catch let error as TransportError where error.failure.isGivenUp {
        // Nothing was sent: its host is not tried.
        tally.requests -= 1
        throw error
      }
      if let status = guarded.status, status >= 400 {
        clockOffset = guarded.date.map { $0 - context.clock.now() }
      }
      switch guarded.detour {
      case nil: return url
      case .renewal:
        hasRenewed = true
        try rewind(body)
        if let endpoint { await authenticator.forget(endpoint, since: generation) }
      case .refusedURL:
        // Once a request; where the row has no other one, the refusal counts.
        mayRenewURL = false
        if let signed, try await signed.renew() { url = signed.current }
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
      try await authenticator.add(
        settings.policy.headers + (endpoint?.headers ?? []), to: &headers, for: target)
      try await authenticator.add(settings.headers, to: &headers, for: target)
    }
    // Credentials and secret headers stay with the origin that they were given for.
    if !keepsSecrets {
      headers.removeSecrets()
    } else if request.isAuthorised, let endpoint {
      try await authenticator.add(endpoint.driver.headers, to: &headers, for: target)
      try await authenticator.authorise(request.method, target, &headers, for: endpoint)
    }
    let wireBody: WireRequest.Body
    switch request.body {
    case .none: wireBody = body
    case .bytes(let bytes): wireBody = .bytes(bytes)
    case .source: wireBody = body
    }
    var wire = WireRequest(request.method, target, headers: headers, body: wireBody)
    wire.throttle = throttle
    wire.slot = slot
    wire.isFarewell = isFarewell
    return wire
  }
}

/// Refusals in HTTP's own words, for requests that no protocol value speaks for.
struct HTTPRefusals: RemoteProtocol {}

/// A fresh start of the transfer, asked for from within a request.
enum Restart: Error {
  /// The remote object is another one than the recorded bytes belong to.
  case changed(RemoteObject)
  /// The server does not serve ranges: one stream from byte 0.
  case noRanges
}

/// Looks at an answer's head before the real sink does: redirects and refused credentials are not for it.
///
/// Used on the transport's executor alone, hence sendable to it.
private final class RedirectSink: AnswerSink, @unchecked Sendable {
  enum Detour {
    case redirect(WebURL)
    case renewal
    /// The URL's own signature is refused.
    case refusedURL
  }
  private let origin: WebURL
  private let method: String
  private let canRenew: Bool
  private let canRenewURL: Bool
  private let followsRedirects: Bool
  private let inner: any AnswerSink
  private(set) var detour: Detour?
  private(set) var status: Int?
  /// The server's clock, in seconds since 1970.
  private(set) var date: Double?

  init(
    origin: WebURL, method: String, canRenew: Bool, canRenewURL: Bool, followsRedirects: Bool,
    inner: any AnswerSink
  ) {
    self.origin = origin
    self.method = method
    self.canRenew = canRenew
    self.canRenewURL = canRenewURL
    self.followsRedirects = followsRedirects
    self.inner = inner
  }

  func head(_ head: AnswerHead) throws {
    status = head.status
    if head.status >= 400 { date = head.headers["Date"].flatMap(HTTPDate.seconds) }
    switch head.status {
    case 301, 302, 303, 307, 308:
      guard followsRedirects else { break }
      // 303 after a PUT or POST names a page about the result, not another place for the body.
      guard head.status != 303 || method == "GET" || method == "HEAD" else { break }
      guard let location = head.headers["Location"] else { break }
      guard let target = origin.resolving(location) else {
        throw Failure(
          .policyDenied, "\(origin) redirects to something that is not http(s), or holds a user name",
          httpStatus: head.status)
      }
      detour = .redirect(target)
      return
    case 401 where canRenew:
      detour = .renewal
      return
    case 403 where canRenewURL:
      detour = .refusedURL
      return
    default: break
    }
    try inner.head(head)
  }

  func body(_ bytes: UnsafeRawBufferPointer) throws {
    if detour == nil { try inner.body(bytes) }
  }

  func mustWait(_ resume: @escaping @Sendable () -> Void) -> Bool { detour == nil && inner.mustWait(resume) }
}
