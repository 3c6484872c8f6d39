import Digests
import Foundation
import JobLedger
import JobModel
import Protocols

/// The remote session of an upload: opened, recovered by the server's own word, renewed, finalized, abandoned.
extension Upload {
  /// A session is renewed when it has less than this left, in seconds.
  private static var renewalMargin: Double { 60 }

  func openSession() async throws -> (RemoteSession, finished: UploadedFile?) {
    if let old = book.progress.session, old.chunkSize > 0 {
      if let recovered = try await recover(old) { return recovered }
    }
    held = [:]
    let session = try await create(renewing: nil)
    return (session, nil)
  }

  private func recover(_ old: RemoteSession) async throws -> (RemoteSession, finished: UploadedFile?)? {
    var session = old
    if let expiry = old.expiresAt, expiry - context.clock.now() < Self.renewalMargin {
      // The new session holds what the old one held, if the server knows how.
      do { session = try await create(renewing: old) } catch is SessionGone { return nil }
    }
    guard let request = remote.query(session) else { return nil }
    let answer = try await requester.call(request)
    switch remote.queried(answer, session: session, source: source, now: context.clock.now()) {
    case .failure(let failure): throw failure
    case .sessionLost:
      // Stopped between the finalize and its record: the file may be there.
      if book.progress.sessionState == .finalizing,
        let file = try await finishedAlready(try await wholeDigests())
      {
        return (session, file)
      }
      book.warn("the upload session of an earlier attempt is gone: a new one is opened")
      forgetChunks()
      return nil
    case .value(let holdings):
      if let finished = holdings.finished { return (session, finished) }
      try await takeOver(holdings, session)
      return (session, nil)
    }
  }

  /// Takes the server's word for what it holds; what only we believed in is sent again.
  private func takeOver(_ holdings: SessionHoldings, _ session: RemoteSession) async throws {
    let layout = ChunkLayout(size: source.size, chunkSize: session.chunkSize)
    var recorded: [Int64: ChunkRecord] = [:]
    for record in try context.ledger.chunks(of: book.transfer.seq) { recorded[record.offset] = record }
    held = [:]
    for index in holdings.chunks where index >= 0 && index < layout.count {
      let range = layout.range(index)
      held[range.lowerBound] =
        recorded[range.lowerBound]
        ?? ChunkRecord(offset: range.lowerBound, length: Int64(range.count), digest: "", attempts: 0)
    }
    let missing = recorded.values.filter { held[$0.offset] == nil }
    context.writer.submit(.lostChunks(seq: book.transfer.seq, offsets: missing.map(\.offset)))
    for record in missing { book.progress.discarded += record.length }
    let reused = held.values.reduce(0) { $0 + $1.length }
    book.progress.reused = reused
    book.progress.chunksReused = held.count
    live.setDone(reused)
    if let expiry = holdings.expiresAt { book.progress.session?.expiresAt = expiry }
  }

  private func create(renewing old: RemoteSession?) async throws -> RemoteSession {
    guard let request = remote.open(source, renewing: old) else {
      throw Failure(.internal, "this protocol opens no sessions")
    }
    var answer = try await requester.call(request)
    if answer.status == 413, let limit = Self.limit(in: answer), limit < source.chunkSize {
      source.chunkSize = limit
      if let smaller = remote.open(source, renewing: old) { answer = try await requester.call(smaller) }
    }
    let session = try value(remote.opened(answer, source: source, now: context.clock.now()))
    if session.chunkSize != source.chunkSize {
      book.warn(
        "chunks are \(session.chunkSize) bytes, as the server wants, in place of \(source.chunkSize)",
        hint: "set `chunk_size: \(session.chunkSize)` to say so yourself")
    }
    book.progress.session = session
    book.progress.sessionState = .open
    book.progress.source = currentFacts
    book.save()
    return session
  }

  /// The number in a 413 that names the largest chunk allowed.
  private static func limit(in answer: Answer) -> Int64? {
    let members = ProblemDetails(answer)?.members ?? [:]
    return ((members["maxChunkSize"] ?? members["limit"]) as? NSNumber)?.int64Value
  }

  func finalize(_ session: RemoteSession) async throws -> UploadedFile {
    let mine = settings.verify == .size && expect.digests.isEmpty ? [:] : try await wholeDigests()
    if !expect.digests.isEmpty { try checkExpected(mine) }
    try await checkType()
    try checkSource()
    source.sha256 = mine[.sha256]
    book.progress.sessionState = .finalizing
    book.save()
    let chunks = held.values.sorted { $0.offset < $1.offset }
    guard let request = remote.finalize(session, source: source, chunks: chunks) else {
      return UploadedFile()
    }
    let answer = try await requester.call(request)
    switch remote.finalized(answer, now: context.clock.now()) {
    case .value(let file): return file
    case .failure(let failure): throw failure
    case .sessionLost(let failure):
      // An answer that was lost may have been the good news: what stands there now tells.
      if let file = try await finishedAlready(mine) { return file }
      throw SessionGone(failure: failure)
    }
  }

  private func finishedAlready(_ mine: [DigestAlgorithm: String]) async throws -> UploadedFile? {
    guard let digest = mine[.sha256], let request = remote.look() else { return nil }
    let answer = try await requester.call(request)
    guard case .value(let object) = remote.inspected(answer, now: context.clock.now()),
      object.digests[.sha256] == digest, object.size == source.size
    else { return nil }
    return UploadedFile(etag: object.etag, digests: object.digests)
  }

  func checkType() async throws {
    guard let type = expect.type, let file else { return }
    let size = source.size
    let verdict = try await context.pool.run {
      try MediaTypeRule.check(type: type, size: size) { offset, count in
        try file.bytes(at: offset, count: count)
      }
    }
    switch verdict {
    case .match: book.check(Verification("type", .manifest, .match))
    case .mismatch(let reason):
      book.check(Verification("type", .manifest, .mismatch))
      throw Failure(.typeMismatch, "`\(file.path)` is no \(type): \(reason)", expected: type, actual: reason)
    }
  }

  /// Ends the remote session, as far as the server can be reached.
  func abandonSession() async {
    if let session = book.progress.session, let request = remote.abort(session) {
      _ = try? await requester.call(request)
    }
    book.progress.session = nil
    book.progress.sessionState = book.progress.sessionState == .none ? .none : .closed
    context.writer.submit(.noChunks(seq: book.transfer.seq))
  }
}
