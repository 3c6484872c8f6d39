import Admission
import Endpoints
import JobModel

/// A sink over HTTP: an endpoint's value says what to send and what an answer means, a requester sends it. Control
/// requests are retried by the requester, chunks by whoever sends them.
final class HTTPSink: RemoteSink {
  /// Bytes that an answer to a chunk may have.
  private static let longestReceipt = 1 << 20
  /// Rounds where a session may outlive its end.
  private static let ends = 3

  /// What a chunk lacked at its destination is made once.
  private enum Remedy { case untried, made, used }

  private let remote: any UploadProtocol
  private let requester: Requester
  private var partURLs = PartURLs()
  private var remedy = Remedy.untried
  /// Those who wait while others ask for URLs.
  private var waiters: [CheckedContinuation<Void, Never>]?
  /// What the store has refused to keep of the source is left out from now on.
  private var refusals: RefusedAttributes
  /// What stands at the destination may be a torn file of ours.
  private var mayHaveTorn = false
  /// Where a redirect has led a body that was to go into the session.
  private var redirected: WebURL?

  init(_ remote: any UploadProtocol, _ requester: Requester) {
    self.remote = remote
    self.requester = requester
    refusals = RefusedAttributes(
      classes: requester.context.refusedClasses, origin: remote.url.origin)
  }

  var traits: any UploadTraits { remote }
  var place: String { remote.url.description }
  var lookedAt: String { (remote.look()?.url ?? remote.url).description }
  var origin: String { remote.url.origin }
  private var now: Double { requester.context.clock.now() }

  func hasty() -> any RemoteSink { HTTPSink(remote, requester.hasty(tries: 1)) }

  // MARK: What is there

  private var looks: HTTPLooks { HTTPLooks(remote: remote, requester: requester) }

  nonisolated(nonsending) func look(_ effort: LookEffort) async throws -> FoundFile? {
    try await looks.look(effort)
  }

  nonisolated(nonsending) func look(for file: UploadedFile) async throws -> FoundFile? {
    try await looks.look(for: file)
  }

  nonisolated(nonsending) func inspect(
    _ file: UploadedFile, source: UploadSource, chunks: [ChunkRecord]
  ) async throws -> FoundFile? {
    try await looks.inspect(file, source: source, chunks: chunks)
  }

  nonisolated(nonsending) func readBack(
    _ file: UploadedFile, moved: @escaping (Int) -> Void
  ) async throws -> ReadBack? {
    try await looks.readBack(file, moved: moved)
  }

  // MARK: Sessions

  nonisolated(nonsending) func prepare(_ source: UploadSource) async throws -> [String: String] {
    guard let preparation = remote.preparation() else { return [:] }
    return try remote.prepared(try await requester.call(preparation), source: source, now: now).get()
  }

  nonisolated(nonsending) func begin(
    _ source: UploadSource, renewing old: RemoteSession?
  ) async throws -> SessionStart {
    if let session = remote.ownSession(for: source) { return .opened(session, isReplayed: false) }
    let response = try await requester.retrying {
      try await self.openingResponse(self.refusals.apply(to: source), renewing: old)
    }
    let opened = remote.opened(response, source: source, now: now)
    if let limit = remote.chunkLimit(response), limit > 0, limit < source.chunkSize,
      case .failure(let failure) = opened
    {
      return .limited(to: limit, failure)
    }
    // Only one that is to be renewed, or that was asked for before under its key, can be gone: a 404 is of the endpoint's URL.
    let mayBeKnown = old != nil || remote.keysSessions && source.key != nil && response.status != 404
    if !mayBeKnown, case .failure(let failure) = opened { throw failure.beforeAnySession }
    let session = try opened.get()
    // Also where it has the name of one before it: what was handed out for that one may be of no more use.
    partURLs = PartURLs()
    return .opened(
      session, isReplayed: response.status == 200 && remote.keysSessions && source.key != nil)
  }

  /// Asks for a session once; again without what the store refuses to keep.
  private nonisolated(nonsending) func openingResponse(
    _ source: UploadSource, renewing old: RemoteSession?
  ) async throws -> Response {
    guard let request = remote.open(source, renewing: old) else {
      throw Failure(.internal, "this protocol opens no sessions")
    }
    let response = try await requester.once(request)
    if let reduced = remote.reduced(source, after: response) {
      refusals.note(source, reduced)
      return try await openingResponse(reduced, renewing: old)
    }
    try requester.refusePassing(response, to: request)
    return response
  }

  nonisolated(nonsending) func tags() async throws -> Result<[String: String], Failure>? {
    guard let download = remote.readback(UploadedFile()) else { return nil }
    let tags = try await requester.tags(of: RemoteObject(), download)
    if case .failure(let failure)? = tags, failure.code == .notFound { return .success([:]) }
    return tags
  }

  var refusedAttributes: Set<Attribute> { refusals.attributes }

  nonisolated(nonsending) func sessions() async throws -> SessionListing {
    guard let request = remote.listSessions() else { return .sessions([], now: now) }
    let response = try await requester.call(request)
    switch remote.listedSessions(response, now: now) {
    case .failure(let failure):
      guard failure.code == .unauthorized || failure.mayPass else { return .untold(failure) }
      throw failure
    case .success(let open):
      guard let date = response.headers["Date"].flatMap(HTTPDate.seconds) else {
        return .untold(
          Failure(.protocolViolation, "\(place) answered without a `Date`", httpStatus: response.status))
      }
      return .sessions(open, now: date)
    }
  }

  nonisolated(nonsending) func holdings(
    of session: RemoteSession, source: UploadSource
  ) async throws -> Result<SessionHoldings, Failure>? {
    var all: SessionHoldings?
    while let request = remote.query(session, after: all) {
      let response = try await requester.call(request)
      switch remote.queried(response, session: session, source: source, now: now) {
      case .success(var page):
        page.chunks.merge(all?.chunks ?? [:]) { new, _ in new }
        guard page.nextPage != nil else { return .success(page) }
        guard page.chunks.count > all?.chunks.count ?? 0 else {
          return .failure(
            Failure(
              .protocolViolation, "\(place) lists what it holds of the upload without an end",
              class: .permanent))
        }
        all = page
      case .failure(let failure): return .failure(failure)
      }
    }
    return all.map { .success($0) }
  }

  nonisolated(nonsending) func complete(
    _ session: RemoteSession, source: UploadSource, chunks: [ChunkRecord]
  ) async throws -> UploadedFile {
    try await checkArrival(in: session, of: source)
    if let exchange = remote.closing(session, source: source) {
      let response: Response
      do { response = try await run(exchange) } catch let failure as Failure
        where failure.class == .sessionGone
      {
        guard let redirected else { throw failure }
        throw Failure(
          .protocolViolation,
          "\(place): the server redirected the upload to \(redirected), where it can't be given its name: write the URL that it redirects to as the endpoint's `url`",
          class: .permanent)
      }
      return try remote.finalized(response, session: session, source: source, chunks: chunks, now: now).get()
    }
    guard let request = remote.finalize(session, source: source, chunks: chunks) else {
      return remote.closed(session, receipt: nil)
    }
    let response = try await requester.call(request)
    let result = remote.finalized(response, session: session, source: source, chunks: chunks, now: now)
    // An earlier try may have closed it, and only its answer was lost: the session may tell.
    if case .failure(let failure) = result, failure.code == .protocolViolation, failure.httpStatus == 409,
      case .success(let told)? = try await holdings(of: session, source: source), let file = told.finished
    {
      return file
    }
    return try result.get()
  }

  /// Looks at what has arrived before it takes the place of what stands at the destination. An answer that fails says nothing:
  /// the finished file is looked at as well.
  private nonisolated(nonsending) func checkArrival(
    in session: RemoteSession, of source: UploadSource
  ) async throws {
    guard let request = remote.arrival(in: session, of: source) else { return }
    let response = try? await requester.once(request)
    try Task.checkCancellation()
    if let failure = response.flatMap({ remote.objection(to: $0, in: session, of: source) }) { throw failure }
  }

  func origin(ending session: RemoteSession) -> String? { remote.abort(session)?.url.origin }

  nonisolated(nonsending) func abort(_ session: RemoteSession) async throws -> Failure? {
    guard let request = remote.abort(session) else { return nil }
    let hasty = requester.hasty()
    defer { requester.count(hasty.takeTally()) }
    for _ in 0..<Self.ends {
      let response = try await hasty.call(request)
      if [404, 410].contains(response.status) { return nil }
      guard (200...299).contains(response.status) else {
        return remote.refusal(response, doing: "end the upload", now: now)
      }
      // What was on its way may have come behind the end.
      guard remote.mayOutliveItsEnd, let query = remote.query(session, after: nil),
        try await hasty.call(query).status == 200
      else { return nil }
    }
    return Failure(.serverError, "\(place) still has the upload after it was ended \(Self.ends) times")
  }

  // MARK: Chunks

  nonisolated(nonsending) func put(
    _ chunk: UploadChunk, _ body: any ByteReader, session: RemoteSession?, source: UploadSource,
    coming: () -> [Int]
  ) async throws -> Result<ChunkReceipt, Failure> {
    var chunk = chunk
    if let session {
      partURLs.begin(chunk.index, in: session)
      chunk.partURL = try await partURL(for: chunk.index, session, coming)
    }
    try await makeFolder()
    let sink = ResponseBuffer(limit: Self.longestReceipt)
    var whole = refusals.apply(to: source)
    if mayHaveTorn { whole.mustBeNew = false }
    let request = remote.put(chunk, session: session, source: whole)
    var wire = WireRequest.Body.none
    if case .source = request.body {
      let isOnce = whole.mustBeNew && remote.mayLeaveTornFile
      wire = .source(isOnce ? UnrepeatedBody(body) : body, length: body.length)
    }
    let wasTorn = mayHaveTorn
    mayHaveTorn = remote.mayLeaveTornFile
    let url: WebURL
    do { url = try await requester.send(request, body: wire) { sink } } catch {
      let failure = Failure(error)
      // Nothing was sent.
      if failure.isUnconnected || failure.class == .deferred { mayHaveTorn = wasTorn }
      throw error
    }
    redirected = url == request.url ? nil : url
    guard let head = sink.responseHead else {
      return .failure(Failure(.protocolViolation, "\(url) did not answer a chunk"))
    }
    let response = requester.received(head, sink.bytes, from: url)
    let verdict = remote.accepted(response, chunk: chunk, now: now)
    switch verdict {
    case .success: partURLs.accepted(chunk.index)
    case .failure(var failure):
      if session == nil, whole.mustBeNew, response.status == 412 {
        failure.code = .destinationExists
        return .failure(failure)
      }
      // Refused for good before it was taken: nothing of it lies there.
      if failure.openedNothing { mayHaveTorn = wasTorn }
      if session == nil, let reduced = remote.reduced(whole, after: response) {
        refusals.note(whole, reduced)
        refusals.isNew = true
        break
      }
      if session != nil, let limit = remote.chunkLimit(response), limit > 0, limit < Int64(chunk.range.count)
      {
        // Its session is of larger ones.
        (failure.chunkLimit, failure.class) = (limit, .sessionGone)
        return .failure(failure)
      }
      guard remedy == .untried, let exchange = remote.remedy(for: response, now: now) else { break }
      _ = try await run(exchange)
      remedy = .made
    }
    return verdict
  }

  /// Makes the folder that the chunk goes into, once a run.
  ///
  /// - Throws: `NOT_FOUND` where there is no place for it. Nothing else that fails here keeps the chunk back: who may not
  ///   make a folder may send into it, and the answer to the chunk has a remedy of its own.
  private nonisolated(nonsending) func makeFolder() async throws {
    guard remedy == .untried, let (folder, making) = remote.folderMaking() else { return }
    let folders = requester.context.folders
    let key = MadeFolders.Key(endpoint: requester.endpointName ?? "", folder: folder.text)
    // Half of a stream holds the permit that who makes the folder may wait for: it waits for nobody.
    guard await folders.mustMake(key, mayWait: !requester.isPaired) else {
      return try Task.checkCancellation()
    }
    // Others hold their permits while they wait for the folder: who makes it waits for none of these.
    let holding = requester.transfer?.buffers.hold()
    defer { withExtendedLifetime(holding) {} }
    var isAnswered = false
    defer { folders.end(key, isAnswered: isAnswered) }
    do {
      _ = try await pass(making)
      isAnswered = true
    } catch {
      let failure = try Requester.failure(error)
      guard failure.code != .notFound else { throw failure }
      isAnswered = failure.httpStatus != nil && failure.class != .transient
    }
  }

  func mends(_ failure: Failure, of chunk: Int) -> Bool {
    if remedy == .made {
      remedy = .used
      return true
    }
    if refusals.isNew {
      refusals.isNew = false
      return true
    }
    return partURLs.refused(chunk, failure, attempts: requester.attempts)
  }

  /// The URL that the server has handed out for a chunk; nil where the protocol needs none.
  private nonisolated(nonsending) func partURL(
    for index: Int, _ session: RemoteSession, _ coming: () -> [Int]
  ) async throws -> WebURL? {
    while true {
      if let known = partURLs.take(index) { return known }
      guard waiters == nil else {
        await withCheckedContinuation { waiters?.append($0) }
        try Task.checkCancellation()
        continue
      }
      let wanted = partURLs.missing(index, coming(), most: remote.abilities.partURLBatch)
      guard let request = remote.partURLs(for: wanted, session: session) else { return nil }
      waiters = []
      defer {
        waiters?.forEach { $0.resume() }
        waiters = nil
      }
      let response = try await requester.call(request)
      partURLs.add(try remote.handedOut(response, session: session, now: now).get())
      guard let url = partURLs.take(index) else {
        throw Failure(.protocolViolation, "\(request.url) gave no URL for part \(index + 1)")
      }
      return url
    }
  }

  /// Sends what an exchange asks for, until it has its answer.
  private nonisolated(nonsending) func run(_ exchange: any Exchange) async throws -> Response {
    try await requester.retrying { try await self.pass(exchange) }
  }

  /// Sends what an exchange asks for, from its beginning, each request once.
  private nonisolated(nonsending) func pass(_ exchange: any Exchange) async throws -> Response {
    var exchange = exchange
    var last: Response?
    while true {
      switch try exchange.next(after: last, now: now) {
      case .send(let request): last = try await requester.attempt(request)
      case .end(let response): return response
      }
    }
  }
}
