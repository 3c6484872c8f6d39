import JobLedger
import JobModel
import Endpoints

/// The session that an earlier attempt was about to open: the server may have opened it without our hearing of it.
enum IntendedSession {
  /// Asks for it under its key, which gives it again; a server that knows no keys gives a new one.
  ///
  /// - Returns: nil where the service has no sessions for such a file.
  /// - Throws: what kept the server from being asked.
  nonisolated(nonsending) static func find(
    _ intent: SessionIntent, at remote: any UploadProtocol, by requester: Requester, now: Double
  ) async throws -> RemoteSession? {
    var source = UploadSource(
      size: intent.size, contentType: intent.contentType, chunkSize: intent.chunkSize)
    source.key = intent.key
    guard let request = remote.open(source, renewing: nil) else { return nil }
    switch remote.opened(try await requester.call(request), source: source, now: now) {
    // What may not be recorded can't be gone on with.
    case .value(let session): return session.holds(requester.context.mask) ? nil : session
    case .failure(let failure):
      if failure.class == .sessionGone { return nil }
      // Refused for what it is, it was never opened; but a token or a right may have ended since.
      let status = failure.httpStatus ?? 0
      if (400..<500).contains(status), ![401, 403, 407, 408, 409, 425, 429].contains(status) { return nil }
      throw failure
    }
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
  /// Records what a session is about to be asked for under; one that was asked for under another key is ended.
  func intend(_ key: String) async throws {
    let intent = SessionIntent(
      key: key, size: source.size, contentType: source.contentType, chunkSize: source.chunkSize)
    let seq = book.transfer.seq
    let old = try context.intents.mayHave(seq, in: context.ledger) ? context.ledger.intent(of: seq) : nil
    guard old != intent else { return }
    if let old, old.key != key { try await recall(old, by: requester) }
    context.intents.add(seq)
    context.writer.submit(.intent(seq: seq, intent))
    // The server is not asked before it is on record.
    try await context.writer.barrier()
  }

  /// Ends the session that was asked for and is not on record.
  private func recall(_ intent: SessionIntent, by requester: Requester) async throws {
    let found = try await IntendedSession.find(intent, at: remote, by: requester, now: context.clock.now())
    book.note(.session(found))
    if let found { context.writer.submit(.abandoned(seq: book.transfer.seq, found)) }
    context.intents.remove(book.transfer.seq)
    context.writer.submit(.intent(seq: book.transfer.seq, nil))
    if found != nil { await abandonSession() }
  }

  /// As `recall`, for whatever was about to be opened; left on record where the server can't be asked at once.
  func recallIntent() async {
    guard book.progress.session == nil, let intent = try? context.ledger.intent(of: book.transfer.seq) else {
      return
    }
    let (origin, now) = (remote.url.origin, context.clock.now())
    guard context.silentHosts.current(origin, now: now) == nil else { return }
    do { try await recall(intent, by: requester.hasty()) } catch {
      context.silentHosts.note(origin, error, now: now)
      context.remark(
        IntendedSession.remark(book.id, of: context.job, book.transfer.destination, Failure(error)))
    }
  }
}
