import JobLedger
import JobModel
import Protocols

/// The session that an earlier attempt was about to open: the server may have opened it without our hearing of it.
enum IntendedSession {
  /// Asks for it under its key, which gives it again; a server that knows no keys gives a new one.
  ///
  /// - Returns: nil where the server gives none.
  /// - Throws: what kept the server from being asked.
  nonisolated(nonsending) static func find(
    _ intent: SessionIntent, at remote: any UploadProtocol, by requester: Requester, now: Double
  ) async throws -> RemoteSession? {
    var source = UploadSource(
      size: intent.size, contentType: intent.contentType, chunkSize: intent.chunkSize)
    source.key = intent.key
    guard let request = remote.open(source, renewing: nil),
      case .value(let session) = remote.opened(
        try await requester.call(request), source: source, now: now)
    else { return nil }
    return session
  }
}

extension Upload {
  /// Records what a session is about to be asked for under; one that was asked for under another key is ended.
  func intend(_ key: String) async throws {
    let intent = SessionIntent(
      key: key, size: source.size, contentType: source.contentType, chunkSize: source.chunkSize)
    let old = try context.ledger.intent(of: book.transfer.seq)
    guard old != intent else { return }
    if let old, old.key != key { try await recall(old) }
    context.writer.submit(.intent(seq: book.transfer.seq, intent))
    // The server is not asked before it is on record.
    try await context.writer.barrier()
  }

  /// Ends the session that was asked for and is not on record.
  private func recall(_ intent: SessionIntent) async throws {
    let now = context.clock.now()
    book.progress.session = try await IntendedSession.find(intent, at: remote, by: requester, now: now)
    context.writer.submit(.intent(seq: book.transfer.seq, nil))
    if book.progress.session != nil { await abandonSession() }
  }

  /// As `recall`, for whatever was about to be opened; left on record where the server can't be asked.
  func recallIntent() async {
    guard book.progress.session == nil, let intent = try? context.ledger.intent(of: book.transfer.seq) else {
      return
    }
    try? await recall(intent)
  }
}
