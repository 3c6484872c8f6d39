import Digests
import Endpoints
import JobLedger
import JobModel
import LocalFiles

/// Sending: what is missing sent, a few chunks at once, each answer judged.
extension Upload {
  /// One pass: session, chunks, finalize.
  func sendOnce() async throws -> UploadedFile {
    if settings.verify != .size || !expect.digests.isEmpty { try digests?.begin() }
    try await checkKnown()
    if source.size == 0, abilities.emptyFile == .refused {
      throw Failure(
        .protocolViolation,
        "`\(book.transfer.source.text)` has 0 bytes, and this service refuses empty files: leave it out (`exclude`)"
      )
    }
    if !traits.opensSession(for: source) {
      // Nothing comes after the only request that could still refuse bad bytes.
      if !expect.digests.isEmpty { try checkExpected(try await wholeDigests()) }
      if book.progress.session != nil {
        await abandonSession()
        forgetChunks(.sessionGone)
      }
      return try await sendWhole()
    }
    var (session, finished) = try await openSession()
    if let finished { return finished }
    session = try await sendMissing(session)
    let doubtful = traits.contradicted(held.sorted)
    if !doubtful.isEmpty {
      book.warn("\(doubtful.count) chunks arrived with other bytes, by their receipts, and are sent again")
      drop(doubtful)
      session = try await sendMissing(session)
      if let bad = traits.contradicted(held.sorted).first {
        throw Failure(
          .integrityMismatch, "\(sink.place) took bytes from \(bad.offset) with another digest, twice",
          expected: bad.digest, actual: bad.receipt)
      }
    }
    return try await finalize(session)
  }

  /// Sends what the session does not hold, a few chunks at once.
  ///
  /// - Returns: the session that holds all, as one may have to be renewed on the way.
  private func sendMissing(_ first: RemoteSession) async throws -> RemoteSession {
    var session = first
    while true {
      let layout = ChunkLayout(size: source.size, chunkSize: session.chunkSize)
      let missing = held.missing(layout, emptyFile: abilities.emptyFile)
      book.note(.laidOut(chunks: max(layout.count, abilities.emptyFile == .oneEmptyChunk ? 1 : 0)))
      book.save()
      guard !missing.isEmpty else { return session }
      if mustRenew {
        session = try await renewed(session)
        continue
      }
      let workers = abilities.isParallel ? min(settings.policy.chunksInFlight, missing.count) : 1
      pending = ChunkQueue(missing)
      sending = []
      try await withThrowingTaskGroup(of: Void.self) { [session] group in
        for _ in 0..<max(1, workers) { group.addTask { try await self.work(session) } }
        try await group.waitForAll()
      }
    }
  }

  /// What is on its way goes to the end first: no chunk crosses a renewal, and none is sent twice for it.
  private var mustRenew: Bool { abilities.renewsSessions && sessionClock.isDue(context.clock.now()) }

  /// What the server holds of these chunks is of no use.
  func drop(_ lost: [ChunkRecord]) {
    held.remove(lost)
    for record in lost {
      book.note(.dropped(record.length))
      live.add(-record.length)
    }
    context.writer.submit(.lostChunks(seq: book.transfer.seq, offsets: lost.map(\.offset)))
  }

  private func work(_ session: RemoteSession) async throws {
    // A server that takes chunks in order and can't be asked is told only of the last one twice: what is before it
    // must be on record, or a kill would leave the whole upload of no use.
    let mustRecord = abilities.order == .sequential && !traits.tellsHoldings(of: session)
    while !mustRenew, let chunk = pending.next() {
      if mustRecord { try await context.writer.barrier() }
      sending.insert(chunk.index)
      defer { sending.remove(chunk.index) }
      let began = context.clock.now()
      try await send(chunk, session: session)
      sessionClock.sent(seconds: context.clock.now() - began)
    }
  }

  private func sendWhole() async throws -> UploadedFile {
    let chunk = UploadChunk(index: 0, range: 0..<source.size)
    book.note(.laidOut(chunks: 1))
    if settings.chunkSize == .auto { book.note(.chosen(chunk: source.chunkSize)) }
    if source.mustBeNew {
      // The intent, before a kill can come between the answer and its record: what stands there then may be ours.
      book.note(.finalizing)
      book.save()
      try await context.writer.barrier()
    }
    book.save()
    do {
      let receipt = try await send(chunk, session: nil)
      return traits.closed(nil, receipt: receipt)
    } catch let failure as Failure where failure.code == .destinationExists {
      // An earlier try may have written it, and only its answer was lost.
      if let file = try await finishedAlready(try await wholeDigests()) { return file }
      throw failure
    }
  }

  /// Sends one chunk until the server has it.
  @discardableResult
  private func send(_ chunk: UploadChunk, session: RemoteSession?) async throws -> ChunkReceipt? {
    var sending = ChunkSending(chunk, mayHoldMore: chunk.range.lowerBound == resumedAt)
    do {
      return try await requester.retrying { tries in
        .done(try await put(&sending, session, tries))
      } recover: { failure, tries in
        try await recover(&sending, after: failure, session, tries)
      }
    } catch let failure as Failure where session != nil {
      throw sending.outcome(failure)
    }
  }

  /// One request with the chunk's bytes, and what its answer proves.
  private func put(
    _ sending: inout ChunkSending, _ session: RemoteSession?, _ tries: Int
  ) async throws -> ChunkReceipt {
    guard let file else { throw Failure(.internal, "the source is not open") }
    sending.sent = 0
    let (chunk, body) = try await prepare(sending.chunk, file, bodyDigests(in: session))
    if abilities.order == .byOffset { noteBeginning(of: chunk) }
    do {
      let told = try await sink.put(chunk, body, session: session, source: source) { comingChunks }
      try checkSource()
      let receipt = try told.get()
      try compare(receipt, chunk)
      if let token = receipt.token, context.mask.finds(in: token) {
        throw Failure(
          .protocolViolation, "\(sink.place) answered a chunk with a secret that it was sent",
          chunk: chunk.index)
      }
      try await note(receipt, of: chunk, isWhole: session == nil)
      book.note(.discarded(max(0, body.sent - body.length)))
      if let expiry = receipt.expiresAt {
        book.note(.sessionExpires(at: expiry))
        sessionClock.moved(to: expiry)
      }
      var acknowledged = chunk
      if let kept = recordedDigest, let hashed = body.hashed { acknowledged.digests[kept] = hashed }
      record(acknowledged, receipt, tries)
      return receipt
    } catch {
      sending.sent = body.sent
      live.add(-body.sent)
      // Nothing will look at what of it may have arrived.
      if error is CancellationError { book.note(.discarded(body.sent)) }
      throw error
    }
  }

  /// Looks what has arrived although the request failed, and counts what has not as discarded.
  private func recover(
    _ sending: inout ChunkSending, after failure: Failure, _ session: RemoteSession?, _ tries: Int
  ) async throws -> Recovery<ChunkReceipt?> {
    book.note(.tried(tries))
    var discarded = sending.sent
    defer { book.note(.discarded(discarded)) }
    guard failure.class != .sessionGone else { return .none }
    if let (part, receipt) = try await rescued(of: sending.chunk, session, failure, sending.mayHoldMore) {
      let (count, end) = (Int64(part.range.count), part.range.upperBound)
      let isWhole = end == sending.chunk.range.upperBound
      discarded = max(0, discarded - count)
      live.add(count)
      record(part, receipt, tries, completes: isWhole)
      if isWhole { return .done(nil) }
      sending.advance(to: end)
      return .rest
    }
    if let damage = sending.damage, session != nil, failure.isOfWhatCantBeReplaced {
      throw damage.classed(.sessionGone)
    }
    sending.note(failure)
    return sink.mends(failure, of: sending.chunk.index) ? .again : .none
  }

  /// Those on their way, then those that are sent next.
  private var comingChunks: [Int] { sending.sorted() + pending.coming(abilities.ticketBatch) }

  /// Nobody knows whether the bytes arrived; a server that counts bytes may also have kept some of them.
  private func mayHaveArrived(_ failure: Failure) -> Bool {
    switch failure.code {
    case .networkUnreachable, .timeout: true
    case .serverError, .chunkConflict: abilities.order == .byOffset
    default: false
    }
  }

  /// Records a chunk's digest before its bytes go: a server that keeps a part of them holds what nothing else vouches
  /// for after a kill.
  private func noteBeginning(of chunk: UploadChunk) {
    let record = ChunkRecord(
      offset: chunk.range.lowerBound, length: Int64(chunk.range.count),
      digest: abilities.chunkDigests.first.flatMap { chunk.digests[$0] } ?? "", attempts: 0)
    book.keep(record)
  }

  /// The part of a chunk that the server has, although its request failed; nil where that is not known to be any.
  private func rescued(
    of chunk: UploadChunk, _ session: RemoteSession?, _ failure: Failure, _ mayHoldMore: Bool
  ) async throws -> (part: UploadChunk, receipt: ChunkReceipt?)? {
    guard let session, mayHaveArrived(failure),
      let (range, receipt) = try await arrived(of: chunk, session)
    else { return nil }
    if failure.code == .chunkConflict, !mayHoldMore {
      throw foreign(range.upperBound, chunk.range.lowerBound)
    }
    let digests = try await digests(of: range, recordedDigests)
    return (UploadChunk(index: chunk.index, range: range, digests: digests), receipt)
  }

  /// What the server has of a chunk all the same; nil where it can't be asked now.
  private func arrived(
    of chunk: UploadChunk, _ session: RemoteSession
  ) async throws -> (Range<Int64>, ChunkReceipt?)? {
    let told: Verdict<SessionHoldings>?
    do {
      told = try await sink.holdings(of: session, source: source)
    } catch {
      try Task.checkCancellation()
      return nil
    }
    guard case .value(let holdings) = told else { return nil }
    let range = chunk.range
    if let offset = holdings.offset {
      guard offset >= range.lowerBound else {
        throw Failure(
          .protocolViolation,
          "\(sink.place) holds \(offset) bytes, fewer than the \(range.lowerBound) that it had taken",
          class: .sessionGone)
      }
      guard offset <= range.upperBound else {
        throw foreign(offset, range.upperBound)
      }
      guard offset > range.lowerBound else { return nil }
      return (range.lowerBound..<min(offset, range.upperBound), nil)
    }
    guard let there = holdings.chunks[chunk.index], let record = try await vouched(there, range, nil) else {
      return nil
    }
    return (range, ChunkReceipt(token: record.receipt))
  }

  private func foreign(_ offset: Int64, _ sent: Int64) -> Failure {
    Failure(
      .chunkConflict, "\(sink.place) holds \(offset) bytes, \(sent) were sent: another client writes there",
      class: .sessionGone)
  }

  /// What the server says of the chunk that it took is compared with what was sent.
  private func compare(_ receipt: ChunkReceipt, _ chunk: UploadChunk) throws {
    for (algorithm, theirs) in receipt.digests {
      guard let ours = chunk.digests[algorithm], ours != theirs else { continue }
      throw Failure(
        .integrityMismatch, "\(sink.place) took chunk \(chunk.index) with another \(algorithm.rawValue)",
        chunk: chunk.index, expected: ours, actual: theirs)
    }
  }

  func digests(
    of range: Range<Int64>, _ algorithms: [DigestAlgorithm]
  ) async throws -> [DigestAlgorithm: String] {
    try await digests?.of(range, algorithms) ?? [:]
  }

  /// Hashes the chunk where the protocol wants that before the body, and keeps its bytes where the budget has room.
  private func prepare(
    _ bare: UploadChunk, _ file: OpenFile, _ algorithms: [DigestAlgorithm]
  ) async throws -> (UploadChunk, ChunkBody) {
    var chunk = bare
    let moved: (Int) -> Void = { [unowned self] count in
      assumeIsolated { upload in
        upload.book.note(.moved(Int64(count)))
        upload.live.add(Int64(count))
        upload.context.board.count(count)
      }
    }
    guard !algorithms.isEmpty else {
      return (
        chunk,
        try ChunkBody(
          file: file, range: bare.range, loan: nil, proof: nil, keeping: recordedDigest?.kind, moved: moved)
      )
    }
    let range = bare.range
    guard let digests else { throw Failure(.internal, "the source is not open") }
    guard let loan = budget.take(range.count) else {
      // A checksum will tell that the second reading brings what the first one hashed.
      let wanted = Set(algorithms).union([.crc32c])
      let found = try await digests.of(range, wanted)
      chunk.digests = found.filter { algorithms.contains($0.key) }
      let body = try ChunkBody(
        file: file, range: range, loan: nil, proof: found[.crc32c].map { (.crc32c, $0) }, canAsk: true,
        moved: moved)
      return (chunk, body)
    }
    chunk.digests = try await digests.run {
      guard try loan.fill(range, of: file) else {
        throw Failure(.sourceChanged, "`\(file.path)` changed while it was sent: it ends early")
      }
      return try ChunkDigests.of(loan.bytes, algorithms)
    }
    return (
      chunk, try ChunkBody(file: file, range: range, loan: loan, proof: nil, canAsk: true, moved: moved)
    )
  }

  private func record(
    _ chunk: UploadChunk, _ receipt: ChunkReceipt?, _ tries: Int, completes: Bool = true
  ) {
    book.note(.tried(tries))
    let record = ChunkRecord(
      offset: chunk.range.lowerBound, length: Int64(chunk.range.count),
      digest: recordedDigest.flatMap { chunk.digests[$0] } ?? "",
      receipt: receipt?.token, attempts: tries)
    held.insert(record)
    noteProgress()
    let whole = book.progress.session.map {
      Int64(ChunkLayout(size: source.size, chunkSize: $0.chunkSize).range(chunk.index).count)
    }
    book.record(record, index: chunk.index, completing: completes ? whole ?? record.length : nil)
    book.count(requester.takeTally())
    book.saveNowAndThen()
  }
}

/// Chunks that wait to be sent.
struct ChunkQueue {
  private var waiting: ArraySlice<UploadChunk>
  init(_ chunks: [UploadChunk] = []) { waiting = chunks[...] }
  mutating func next() -> UploadChunk? { waiting.popFirst() }
  func coming(_ count: Int) -> [Int] { waiting.prefix(count).map(\.index) }
}

extension Failure {
  /// Some stores can't replace a part that came damaged (`rclone serve s3` has passed it on): only a new upload can.
  fileprivate var isOfWhatCantBeReplaced: Bool { code == .protocolViolation && isUnimplemented }
}
