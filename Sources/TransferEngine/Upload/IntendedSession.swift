import Endpoints
import JobLedger
import JobModel

/// The sessions that an earlier attempt asked for and never heard of: the server may have opened them.
enum IntendedSession {
  /// How long after it was first asked for a session counts as opened for it, in seconds.
  private static let span: Double = 60
  /// What a server's `Date` may be behind its own records of a moment: it has whole seconds.
  private static let grain: Double = 2

  /// Asks for it under its key, which gives it again; a server that knows no keys gives a new one. S3 has no keys, and
  /// is asked what is open.
  ///
  /// - Returns: none where the service has no sessions for such a file.
  /// - Throws: what kept the server from being asked.
  nonisolated(nonsending) static func find(
    _ intent: SessionIntent, at remote: any UploadProtocol, by requester: Requester, now: Double
  ) async throws -> [RemoteSession] {
    if let request = remote.listSessions() {
      return try await list(request, intent, at: remote, by: requester, now: now)
    }
    var source = UploadSource(
      size: intent.size, contentType: intent.contentType, chunkSize: intent.chunkSize)
    source.key = intent.key
    guard let request = remote.open(source, renewing: nil) else { return [] }
    switch remote.opened(try await requester.call(request), source: source, now: now) {
    // What may not be recorded can't be gone on with.
    case .value(let session): return session.holds(requester.context.mask) ? [] : [session]
    case .failure(let failure):
      if failure.class == .sessionGone { return [] }
      // Refused for what it is, it was never opened; but a token or a right may have ended since.
      let status = failure.httpStatus ?? 0
      if (400..<500).contains(status), ![401, 403, 407, 408, 409, 425, 429].contains(status) { return [] }
      throw failure
    }
  }

  /// Those among the open ones that can only be what was asked for: opened when that was, with nothing in them (parts are
  /// sent behind the record), and not on record. Whoever else opened such a one would lose no byte.
  private nonisolated(nonsending) static func list(
    _ request: Request, _ intent: SessionIntent, at remote: any UploadProtocol, by requester: Requester,
    now: Double
  ) async throws -> [RemoteSession] {
    let answer = try await requester.call(request)
    let open: [OpenSession]
    switch remote.listedSessions(answer, now: now) {
    case .value(let listed): open = listed
    case .failure(let failure):
      // A store that has no such list, or does not give it to us, leaves them to its lifecycle rules.
      let isPassing = failure.code.isRetryable && failure.httpStatus != 501
      guard failure.code == .unauthorized || isPassing else { return [] }
      throw failure
    }
    guard let askedAt = intent.askedAt, let date = answer.headers["Date"].flatMap(HTTPDate.seconds) else {
      return []
    }
    let asked = askedAt + date - requester.context.clock.now()
    let source = UploadSource(
      size: intent.size, contentType: intent.contentType, chunkSize: intent.chunkSize)
    var found: [RemoteSession] = []
    for one in open where (asked - grain...asked + span).contains(one.openedAt) {
      let session = RemoteSession(id: one.id, chunkSize: intent.chunkSize)
      guard try !requester.context.ledger.hasSession(one.id), !session.holds(requester.context.mask),
        let query = remote.query(session, after: nil),
        case .value(let holdings) = remote.queried(
          try await requester.call(query), session: session, source: source, now: now),
        holdings.chunks.isEmpty
      else { continue }
      found.append(session)
    }
    return found
  }

  /// What the user is told where the server could not be asked.
  static func remark(_ id: String, of job: String, _ place: Place, _ failure: Failure) -> Diagnostic {
    Diagnostic(
      .warning,
      "\(id): whether `\(place.text)` opened an upload session that was asked for can't be known now: \(failure.message)",
      hint: "the next run of `\(job)` asks again, and so does `haul gc \(job)`")
  }
}

extension Upload {
  /// What was asked for without an answer can be found again, by its key or by its time.
  var canFindAgain: Bool { remote.keysSessions || remote.listSessions() != nil }

  /// Records what a session is about to be asked for under; one that was asked for before, and that this request does not
  /// give again, is ended.
  func intend(_ key: String) async throws {
    let (seq, isListed) = (book.transfer.seq, remote.listSessions() != nil)
    let intent = SessionIntent(
      key: key, size: source.size, contentType: source.contentType, chunkSize: source.chunkSize,
      askedAt: isListed ? context.clock.now() : nil)
    let old = try context.intents.mayHave(seq, in: context.ledger) ? context.ledger.intent(of: seq) : nil
    guard old != intent else { return }
    if let old, isListed {
      // An upload does not wait for what an earlier one may have left.
      do { try await recall(old, by: requester.hasty(tries: 1)) } catch { remark(error) }
    } else if let old, old.key != key {
      try await recall(old, by: requester)
    }
    context.intents.add(seq)
    context.writer.submit(.intent(seq: seq, intent))
    // The server is not asked before it is on record.
    try await context.writer.barrier()
  }

  /// The session that was asked for is on record. Where it took several requests, those before may have opened others.
  func settleIntent(asked tries: Int) async throws {
    let seq = book.transfer.seq
    guard tries > 1, remote.listSessions() != nil, let intent = try context.ledger.intent(of: seq) else {
      context.intents.remove(seq)
      return context.writer.submit(.intent(seq: seq, nil))
    }
    // What is on record is not taken for one of them.
    try await context.writer.barrier()
    do { try await recall(intent, by: requester.hasty(tries: 1)) } catch { remark(error) }
  }

  /// Ends the sessions that were asked for and are not on record.
  private func recall(_ intent: SessionIntent, by requester: Requester) async throws {
    let seq = book.transfer.seq
    let found = try await IntendedSession.find(intent, at: remote, by: requester, now: context.clock.now())
    for session in found { context.writer.submit(.abandoned(seq: seq, session)) }
    context.intents.remove(seq)
    context.writer.submit(.intent(seq: seq, nil))
    for session in found { await end(session) }
  }

  /// As `recall`, for whatever was about to be opened; left on record where the server can't be asked at once.
  func recallIntent() async {
    guard book.progress.session == nil, let intent = try? context.ledger.intent(of: book.transfer.seq) else {
      return
    }
    let (origin, now) = (remote.url.origin, context.clock.now())
    guard context.silentHosts.current(origin, now: now) == nil else { return }
    do { try await recall(intent, by: requester.hasty(tries: 1)) } catch {
      context.silentHosts.note(origin, error, now: now)
      remark(error)
    }
  }

  private func remark(_ error: any Error) {
    context.remark(
      IntendedSession.remark(book.id, of: context.job, book.transfer.destination, Failure(error)))
  }
}
