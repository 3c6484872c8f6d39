import Digests
import Endpoints
import JobLedger
import JobModel
import LocalFiles

/// The remote session of an upload: opened, recovered by the server's own word, renewed, finalized, abandoned.
extension Upload {
  /// A session is renewed when it has less than this left, in seconds.
  private static var renewalMargin: Double { 60 }

  func openSession() async throws -> (RemoteSession, finished: UploadedFile?) {
    if let old = book.progress.session, old.chunkSize > 0 {
      if let recovered = try await recover(old) {
        try requireProof(in: recovered.0)
        return recovered
      }
    }
    if let lost = lostSession {
      if let session = try await successor(of: lost) {
        try requireProof(in: session)
        return (session, nil)
      }
      forgetChunks(.sessionGone)
    }
    held = HeldChunks()
    book.note(.onlyHeld(0))
    let session = try await create(renewing: nil)
    try requireProof(in: session)
    // A create that was answered before, to an attempt that was killed, gives that session again.
    if isReplayed { try await askWhatIsHeld(session) }
    return (session, nil)
  }

  /// A new session that holds what a lost one held, as far as the server still has it; nil where it has none.
  private func successor(of lost: RemoteSession) async throws -> RemoteSession? {
    lostSession = nil
    let session: RemoteSession
    do { session = try await create(renewing: lost) } catch let failure as Failure
      where failure.class == .sessionGone
    { return nil }
    return try await keepWhatIsHeld(by: session) ? session : nil
  }

  /// Renews the session while the upload is under way and nothing of it is on its way; as it was where the server will
  /// not, or does not know how.
  func renewed(_ old: RemoteSession) async throws -> RemoteSession {
    let before = held.bytes
    let session: RemoteSession
    do { session = try await create(renewing: old) } catch let failure as Failure
      where failure.class == .sessionGone || failure.isClientError
    {
      sessionClock.refused()
      return old
    }
    if !held.isEmpty, case .value(let new) = try await holdings(of: session), new.chunks.isEmpty,
      case .value(let known) = try await holdings(of: old), !known.chunks.isEmpty
    {
      // It began an empty one, and still has the other: that is of use until it ends.
      await end(session)
      book.note(.session(old))
      book.save()
      sessionClock.refused()
      return old
    }
    guard try await keepWhatIsHeld(by: session) else {
      throw Failure(.sessionExpired, "\(sink.place) does not know the session that it has just opened")
    }
    if held.bytes < before {
      lostSessions += 1
      guard lostSessions < settings.policy.retryAttempts else {
        throw Failure(
          .sessionExpired, "\(sink.place) loses chunks each time that a session is renewed", class: .permanent
        )
      }
    }
    return session
  }

  /// Drops what the server does not hold in a session that has taken the place of another; false where it does not know it.
  private func keepWhatIsHeld(by session: RemoteSession) async throws -> Bool {
    guard case .value(let holdings) = try await holdings(of: session) else { return false }
    let layout = ChunkLayout(size: source.size, chunkSize: session.chunkSize)
    drop(
      held.sorted.filter { record in
        let index = Int(record.offset / layout.chunkSize)
        return holdings.chunks[index] == nil || layout.range(index) != record.range
      })
    let there = held.bytes
    // A session that got further than all before it was of use.
    if there > mostHeld { (mostHeld, lostSessions) = (there, 0) }
    return true
  }

  private func askWhatIsHeld(_ session: RemoteSession) async throws {
    guard let told = try await holdings(of: session) else { return }
    try await takeOver(try told.get(), session)
  }

  /// Says so before the bytes are sent, where `verify: required` could not be met behind them.
  private func requireProof(in session: RemoteSession) throws {
    guard settings.verify == .required, !traits.provesUpload(in: session) else { return }
    throw Failure(
      .digestUnavailable, "\(sink.place) neither checks nor gives a digest of what is uploaded to it")
  }

  private func recover(_ old: RemoteSession) async throws -> (RemoteSession, finished: UploadedFile?)? {
    var session = old
    if abilities.renewsSessions, let expiry = old.expiresAt,
      expiry - context.clock.now() < Self.renewalMargin
    {
      // The new session holds what the old one held, if the server knows how.
      do { session = try await create(renewing: old) } catch let failure as Failure
        where failure.class == .sessionGone
      { return nil }
    }
    switch try await holdings(of: session) {
    case nil:
      // Nobody but us can say what arrived.
      guard abilities.resumes else { return nil }
      try await takeOver(nil, session)
      return (session, nil)
    case .failure(let failure) where failure.class != .sessionGone: throw failure
    case .failure:
      // Stopped between the finalize and its record: the file may be there.
      if book.progress.sessionState == .finalizing {
        held = HeldChunks(try context.ledger.chunks(of: book.transfer.seq))
        if let file = try await finishedAlready(try await wholeDigests(), session) { return (session, file) }
      }
      book.warn("the upload session of an earlier attempt is gone: a new one is opened")
      if abilities.renewsSessions, session == old, let heir = try? await create(renewing: old),
        case .value(let holdings) = try await self.holdings(of: heir)
      {
        try await takeOver(holdings, heir)
        return (heir, nil)
      }
      forgetChunks(.sessionGone)
      return nil
    case .value(let holdings):
      if let finished = holdings.finished { return (session, finished) }
      try await takeOver(holdings, session)
      return (session, nil)
    }
  }

  func holdings(of session: RemoteSession) async throws -> Verdict<SessionHoldings>? {
    try await sink.holdings(of: session, source: source)
  }

  /// Takes the server's word for what it holds, our own where it can't be asked; what only we believed in is sent
  /// again.
  private func takeOver(_ holdings: SessionHoldings?, _ session: RemoteSession) async throws {
    var recorded: [Int64: ChunkRecord] = [:]
    for record in try context.ledger.chunks(of: book.transfer.seq) { recorded[record.offset] = record }
    held = HeldChunks()
    if let offset = holdings?.offset {
      try await takeOver(upTo: min(offset, source.size), recorded)
    } else if let holdings {
      let layout = ChunkLayout(size: source.size, chunkSize: session.chunkSize)
      for (index, chunk) in holdings.chunks where index >= 0 && index < max(1, layout.count) {
        let range = layout.count == 0 ? 0..<0 : layout.range(index)
        if let record = try await vouched(chunk, range, recorded[range.lowerBound]) { held.insert(record) }
      }
    } else {
      held = HeldChunks(recorded.values)
    }
    try await checkHeldChunks()
    let missing = recorded.values.filter { held[$0.offset] == nil }
    context.writer.submit(.lostChunks(seq: book.transfer.seq, offsets: missing.map(\.offset)))
    let reused = held.bytes
    let known = recorded.values.reduce(0) { $0 + ($1.attempts > 0 ? $1.length : 0) }
    book.note(.regained(reused - known))
    book.note(.resumed(bytes: reused, chunks: completeChunks))
    live.setDone(reused)
    if let expiry = holdings?.expiresAt { book.note(.sessionExpires(at: expiry)) }
    sessionClock.opened(expiresAt: holdings?.expiresAt ?? session.expiresAt, now: context.clock.now())
  }

  /// What lies before the byte that the server names; it may end within a chunk.
  private func takeOver(upTo offset: Int64, _ recorded: [Int64: ChunkRecord]) async throws {
    var position: Int64 = 0
    for record in recorded.values.sorted(by: { $0.offset < $1.offset })
    where record.offset >= position && record.offset < offset {
      try fill(position..<record.offset)
      let known = record.range.upperBound <= offset ? record : try await beginning(of: record, upTo: offset)
      held.insert(known)
      position = known.range.upperBound
    }
    try fill(position..<max(position, offset))
    resumedAt = offset
  }

  /// The part of a chunk that the server kept when its request broke: the chunk's digest, recorded before it was
  /// sent, says that the source still is what was sent of it.
  private func beginning(of record: ChunkRecord, upTo offset: Int64) async throws -> ChunkRecord {
    let algorithms = Array(abilities.chunkDigests.prefix(1))
    if let algorithm = algorithms.first, !record.digest.isEmpty {
      try check(record, against: try await digests(of: record.range, algorithms)[algorithm])
    }
    let range = record.offset..<offset
    let part = ChunkRecord(
      offset: record.offset, length: Int64(range.count),
      digest: try await digests(of: range, algorithms).values.first ?? "", attempts: max(1, record.attempts))
    book.keep(part)
    return part
  }

  /// Bytes that the server holds and that we have no record of, a kill having come first: only a source that nobody
  /// has touched since can be what they are.
  private func fill(_ range: Range<Int64>) throws {
    guard !range.isEmpty else { return }
    guard let began = book.progress.source, let now = opened?.facts, began.ctime == now.ctime,
      began.inode == now.inode
    else {
      throw Failure(
        .sourceChanged,
        "`\(file?.path ?? "")` was touched since \(range.count) bytes of it were sent that no digest vouches for"
      )
    }
    held.insert(
      ChunkRecord(offset: range.lowerBound, length: Int64(range.count), digest: "", attempts: 0))
  }

  /// The record of a chunk that the server says it holds; nil where something speaks against it.
  func vouched(
    _ chunk: HeldChunk, _ range: Range<Int64>, _ record: ChunkRecord?
  ) async throws -> ChunkRecord? {
    if let size = chunk.size, size != Int64(range.count) { return nil }
    if var record, record.range == range {
      if let theirs = chunk.receipt, let ours = record.receipt, theirs != ours { return nil }
      record.receipt = record.receipt ?? chunk.receipt
      return record
    }
    // Acknowledged, and our record of it lost: its digest tells, or else the whole file's will.
    guard !chunk.digests.isEmpty || abilities.provesWholeFile else { return nil }
    var digest = ""
    if !chunk.digests.isEmpty {
      let ours = try await digests(of: range, Array(Set(chunk.digests.keys).union(recordedDigests)))
      guard chunk.digests.allSatisfy({ ours[$0.key] == $0.value }) else { return nil }
      digest = recordedDigest.flatMap { ours[$0] } ?? ""
    }
    return ChunkRecord(
      offset: range.lowerBound, length: Int64(range.count), digest: digest, receipt: chunk.receipt,
      attempts: 0)
  }

  /// The digest that is recorded with a chunk: what goes before its body, else SHA-256 where a later attempt has
  /// nothing else to compare the source with.
  var recordedDigest: DigestAlgorithm? {
    abilities.chunkDigests.first ?? (abilities.resumes && !abilities.provesWholeFile ? .sha256 : nil)
  }

  var recordedDigests: [DigestAlgorithm] {
    abilities.chunkDigests.isEmpty ? recordedDigest.map { [$0] } ?? [] : abilities.chunkDigests
  }

  /// Reads again what was sent by earlier attempts, where no digest of the server's will close the proof.
  private func checkHeldChunks() async throws {
    guard let algorithm = recordedDigest, !abilities.provesWholeFile || context.checksEverything
    else { return }
    for record in held.sorted where !record.digest.isEmpty {
      try check(record, against: try await digests(of: record.range, [algorithm])[algorithm])
    }
  }

  private func check(_ record: ChunkRecord, against now: String?) throws {
    guard now != record.digest else { return }
    throw Failure(
      .sourceChanged,
      "`\(file?.path ?? "")` is not what was sent of it: bytes from \(record.offset) differ",
      expected: record.digest, actual: now)
  }

  private func create(renewing old: RemoteSession?) async throws -> RemoteSession {
    source.digests = knownDigests
    // Who lists what is open knows each by its time: one in place of a lost one as well.
    let isFoundAgain = old == nil || traits.listsSessions
    source.key = isFoundAgain ? try creationKey() : nil
    let facts = try await sink.prepare(source)
    var intent: SessionIntent?
    if canFindAgain, let key = source.key { intent = try await intend(key) }
    let retries = requester.tally.retries
    var session: RemoteSession
    do {
      var start = try await sink.begin(source, renewing: old)
      if case .limited(let limit, _) = start {
        source.chunkSize = limit
        context.chunkLimits.note(sink.origin, limit, size: source.size)
        source.key = isFoundAgain ? try creationKey() : nil
        if canFindAgain, let key = source.key { intent = try await intend(key) }
        start = try await sink.begin(source, renewing: old)
      }
      switch start {
      case .opened(let opened, let isKnown): (session, isReplayed) = (opened, isKnown)
      case .limited(_, let failure): throw failure
      }
    } catch {
      if let intent { settle(intent, asked: 1 + requester.tally.retries - retries, failure: error) }
      throw error
    }
    session.facts.merge(facts) { own, _ in own }
    guard !session.holds(context.mask) else {
      throw Failure(
        .protocolViolation,
        "\(sink.place) named its session by a secret that it was sent, which is never recorded")
    }
    if old == nil, session.chunkSize < source.chunkSize {
      context.chunkLimits.note(sink.origin, session.chunkSize, size: source.size)
    }
    if settings.chunkSize == .auto {
      book.note(.chosen(chunk: session.chunkSize))
    } else if session.chunkSize != source.chunkSize, old == nil {
      book.warn(
        "chunks are \(session.chunkSize) bytes, as the server wants, in place of \(source.chunkSize)",
        hint: "set `chunk_size: \(session.chunkSize)` to say so yourself")
    }
    sessionClock.opened(expiresAt: session.expiresAt, now: context.clock.now())
    book.note(.opened(session, opened?.facts))
    book.save()
    if let intent { settle(intent, asked: 1 + requester.tally.retries - retries) }
    // One that an earlier attempt could not end, and that is gone on with now.
    if isReplayed { context.writer.submit(.ended(seq: book.transfer.seq, session)) }
    return session
  }

  /// What this version of the source is known by when a session is opened for it; after a loss, and for chunks of
  /// another size, another one: a key belongs to one request (draft-ietf-httpapi-idempotency-key-header, 2.2).
  private func creationKey() throws -> String? {
    guard !context.runID.isEmpty else { return nil }
    // A snapshot's own times say nothing: it is made anew by an attempt that knows of no session.
    let facts = "\(source.size) \(opened?.recorded.mtime ?? 0) \(source.fingerprint ?? "")"
    let count = "\(book.progress.freshStarts) \(lostSessions) \(source.chunkSize)"
    let text = [context.runID, book.id, facts, count].joined(separator: "\0")
    return String(try Digest.hex(of: Array(text.utf8), .sha256).prefix(32))
  }

  func finalize(_ session: RemoteSession) async throws -> UploadedFile {
    let mine = settings.verify == .size && expect.digests.isEmpty ? [:] : try await wholeDigests()
    if !expect.digests.isEmpty { try checkExpected(mine) }
    try checkSource()
    source.digests = mine
    book.note(.finalizing)
    book.save()
    // The intent is on record before the file can appear: a kill in between never takes our own file for a stranger's.
    try await context.writer.barrier()
    if let file = try await lookBeforeTheEnd(session, mine) {
      await endSession()
      return file
    }
    let chunks = held.sorted
    do { return try await sink.complete(session, source: source, chunks: chunks) } catch let failure
      as Failure
      where failure.code == .destinationExists || failure.class == .sessionGone
    {
      // What stands there may be this very upload: an earlier try ended it, and only its answer was lost.
      if let file = try await finishedAlready(try await wholeDigests(), session) { return file }
      throw failure
    }
  }

  /// What stands at the destination, where it is what this upload wanted there.
  func finishedAlready(
    _ mine: [DigestAlgorithm: String], _ session: RemoteSession? = nil
  ) async throws -> UploadedFile? {
    guard case .object(let object, _)? = try await sink.look(.retried),
      object.size == nil || object.size == source.size
    else { return nil }
    var file = traits.file(object)
    file.remoteID = file.remoteID ?? traits.closed(book.progress.session, receipt: nil).remoteID
    let told = told(object)
    file.digests = ownWord(object)
    if !told.isEmpty, object.size != nil, !mine.isEmpty {
      let ours = try await wholeDigests(also: told.keys)
      guard told.allSatisfy({ ours[$0.key] == $0.value }) else { return nil }
      if told[.md5] != nil, traits.etagsMayBeMD5 { file.checks = [Verification("md5", .server, .match)] }
      return file
    }
    if let session, object.size != nil {
      if traits.recognises(object, session: session, chunks: held.sorted) { return file }
    }
    // Where no digest tells, the bytes do.
    guard told.isEmpty, !mine.isEmpty else { return nil }
    do {
      guard let there = try await readBack(file) else { return nil }
      return there.digest == mine[.sha256] ? file : nil
    } catch let failure as Failure where failure.code == .notFound {
      return nil
    }
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
      throw Failure(.typeMismatch, "`\(file.path)` is not \(type): \(reason)", expected: type, actual: reason)
    }
  }

  /// Ends the remote session, as far as the server can be reached; one that is left is on record until it is ended.
  func abandonSession() async {
    await recallIntents()
    await endSession()
    book.note(.sessionEnded)
    context.writer.submit(.noChunks(seq: book.transfer.seq))
  }

  /// Asks the server to end the session, and records where it could not be asked.
  private func endSession() async {
    if let session = book.progress.session { await end(session) }
  }

  /// Ends one session; it is on record until it is ended.
  func end(_ session: RemoteSession) async {
    guard sink.origin(ending: session) != nil else { return }
    context.writer.submit(.abandoned(seq: book.transfer.seq, session))
    if let failure = await SessionEnd.end(session, at: sink, context) {
      context.remark(SessionEnd.remark(book.id, of: context.job, session, failure))
    } else {
      context.writer.submit(.ended(seq: book.transfer.seq, session))
    }
  }
}
