import Digests
import JobLedger
import JobModel
import Protocols

/// Sending: a session opened or recovered, what is missing sent, the end compared.
extension Upload {
  func sendAndVerify() async throws {
    var repairs = 0
    while true {
      do {
        try await prove(try await sendOnce())
        return
      } catch let gone as SessionGone {
        lostSessions += 1
        guard lostSessions < settings.policy.retryAttempts else { throw gone.failure }
        book.warn("the server no longer knows the upload session: a new one is opened")
        book.progress.discarded += held.values.reduce(0) { $0 + $1.length }
        forgetChunks()
        try await requester.pause(after: gone.failure, attempt: lostSessions)
      } catch let failure as Failure where failure.code == .sourceChanged {
        guard book.progress.freshStarts == 0 else { throw failure }
        book.progress.freshStarts += 1
        book.warn("\(failure.message): a new session is opened")
        try await startOver()
      } catch let failure as Failure where isRepairable(failure) {
        repairs += 1
        guard repairs <= 2 else { throw failure }
        book.warn(diagnosis(failure))
        if repairs == 1, try await dropWhatDiffers() { continue }
        guard repairs == 1 || book.progress.chunkSize == nil else { throw failure }
        repairs = 2
        book.progress.chunkSize = min(source.chunkSize, max(65_536, source.chunkSize / 4))
        source.chunkSize = book.progress.chunkSize ?? source.chunkSize
        try await startOver()
      }
    }
  }

  private func isRepairable(_ failure: Failure) -> Bool {
    guard failure.code == .integrityMismatch || failure.code == .chunkConflict else { return false }
    // The manifest's own expectation is about the source: sending it again changes nothing.
    return !book.progress.verification.contains { $0.against == .manifest && $0.result == .mismatch }
  }

  private func diagnosis(_ failure: Failure) -> String {
    let chunks = held.values.sorted { $0.offset < $1.offset }.prefix(32).map {
      "\($0.offset / max(1, source.chunkSize)):\($0.digest.prefix(16))"
    }
    return
      "\(failure.message); expected \(failure.expected ?? "?"), server \(failure.actual ?? "?"); chunks \(chunks.joined(separator: " "))"
  }

  private func startOver() async throws {
    await abandonSession()
    book.progress.discarded += held.values.reduce(0) { $0 + $1.length }
    forgetChunks()
    digests?.cancel()
    digests = nil
    try reopen()
  }

  private func reopen() throws {
    guard let file else { return }
    let facts = try OpenFile.reading(file.path)
    self.file = facts
    var now = try facts.facts()
    now.fingerprint = try Fingerprint(size: now.size) { offset, count in
      try facts.bytes(at: offset, count: count)
    }.description
    currentFacts = now
    source.size = now.size
    source.fingerprint = now.fingerprint
    book.progress.size = now.size
    live.setSize(now.size)
  }

  /// Asks again what the session holds; true where something is missing and can be sent.
  private func dropWhatDiffers() async throws -> Bool {
    guard let session = book.progress.session, let request = remote.query(session) else { return false }
    let answer = try await requester.call(request)
    guard
      case .value(let holdings) = remote.queried(
        answer, session: session, source: source, now: context.clock.now())
    else { return false }
    let layout = ChunkLayout(size: source.size, chunkSize: session.chunkSize)
    let lost = held.values.filter { !holdings.chunks.contains(Int($0.offset / layout.chunkSize)) }
    for record in lost {
      held[record.offset] = nil
      book.progress.discarded += record.length
    }
    context.writer.submit(.lostChunks(seq: book.transfer.seq, offsets: lost.map(\.offset)))
    return !lost.isEmpty || holdings.chunks.count < layout.count
  }

  /// One pass: session, chunks, finalize.
  private func sendOnce() async throws -> UploadedFile {
    beginDigest()
    if remote.open(source, renewing: nil) == nil {
      if source.size == 0, remote.abilities.emptyFile == .refused {
        throw Failure(.protocolViolation, "this endpoint takes no empty file: `\(book.transfer.source.text)`")
      }
      // Nothing comes after the only request that could still refuse bad bytes.
      if !expect.digests.isEmpty { try checkExpected(try await wholeDigests()) }
      try await checkType()
      return try await sendWhole()
    }
    let (session, finished) = try await openSession()
    if let finished { return finished }
    let layout = ChunkLayout(size: source.size, chunkSize: session.chunkSize)
    book.progress.chunksTotal = layout.count
    book.save()
    let missing = (0..<layout.count).filter { held[layout.range($0).lowerBound] == nil }
    let workers = remote.abilities.isParallel ? min(settings.policy.chunksInFlight, missing.count) : 1
    if !missing.isEmpty {
      pending = ChunkQueue(missing)
      try await withThrowingTaskGroup(of: Void.self) { group in
        for _ in 0..<max(1, workers) { group.addTask { try await self.work(session, layout) } }
        try await group.waitForAll()
      }
    }
    return try await finalize(session)
  }

  private func work(_ session: RemoteSession, _ layout: ChunkLayout) async throws {
    while let index = pending.next() {
      let chunk = UploadChunk(index: index, range: layout.range(index))
      try await send(chunk, session: session)
    }
  }

  private func sendWhole() async throws -> UploadedFile {
    let chunk = UploadChunk(index: 0, range: 0..<source.size)
    book.progress.chunksTotal = 1
    book.save()
    let receipt = try await send(chunk, session: nil)
    return UploadedFile(etag: receipt?.token)
  }

  /// Sends one chunk until the server has it.
  @discardableResult
  private func send(_ bare: UploadChunk, session: RemoteSession?) async throws -> ChunkReceipt? {
    guard let file else { throw Failure(.internal, "the source is not open") }
    var tries = 1
    while true {
      var sent: Int64 = 0
      do {
        let (chunk, body) = try await prepare(bare, file)
        defer { sent = body.sent }
        let sink = CollectingSink(limit: 1 << 20)
        let request = remote.put(chunk, session: session, source: source)
        do {
          let url = try await requester.send(request, body: .source(body, length: body.length)) { sink }
          try checkSource()
          guard let head = sink.answerHead else {
            throw Failure(.protocolViolation, "\(url) did not answer a chunk")
          }
          let answer = Answer(head: head, body: sink.bytes, url: url)
          let receipt = try value(remote.accepted(answer, chunk: chunk, now: context.clock.now()))
          book.progress.discarded += body.sent - body.length
          record(chunk, receipt, tries)
          return receipt
        } catch {
          sent = body.sent
          throw error
        }
      } catch let gone as SessionGone {
        book.progress.discarded += sent
        throw gone
      } catch {
        live.add(-(sent))
        let failure = try Requester.failure(error)
        book.progress.maxChunkAttempts = max(book.progress.maxChunkAttempts, tries)
        // The answer may be lost where the chunk is not.
        if let session, failure.code == .networkUnreachable || failure.code == .timeout,
          try await holds(bare.index, session)
        {
          live.add(Int64(bare.range.count))
          book.progress.discarded += max(0, sent - Int64(bare.range.count))
          record(
            UploadChunk(index: bare.index, range: bare.range, sha256: try await digest(of: bare.range)), nil,
            tries)
          return nil
        }
        book.progress.discarded += sent
        guard Requester.mayRetry(failure), tries < settings.policy.retryAttempts else { throw failure }
        try await requester.pause(after: failure, attempt: tries)
        tries += 1
      }
    }
  }

  /// Whether the server has the chunk all the same; false where it can't be asked now.
  private func holds(_ index: Int, _ session: RemoteSession) async throws -> Bool {
    guard let request = remote.query(session) else { return false }
    guard let answer = try? await requester.call(request) else {
      try Task.checkCancellation()
      return false
    }
    guard
      case .value(let holdings) = remote.queried(
        answer, session: session, source: source, now: context.clock.now())
    else { return false }
    return holdings.chunks.contains(index)
  }

  private func digest(of range: Range<Int64>) async throws -> String {
    guard let file else { return "" }
    return try await context.pool.run { try Self.sha256(range, of: file) }
  }

  /// Hashes the chunk where the protocol wants that before the body, and keeps its bytes where the budget has room.
  private func prepare(_ bare: UploadChunk, _ file: OpenFile) async throws -> (UploadChunk, ChunkBody) {
    var chunk = bare
    let moved: (Int) -> Void = { [unowned self] count in
      assumeIsolated { upload in
        upload.book.progress.transferred += Int64(count)
        upload.live.add(Int64(count))
        upload.context.board.count(count)
      }
    }
    guard remote.abilities.hashesChunks else {
      return (
        chunk, try ChunkBody(file: file, range: bare.range, buffer: nil, loan: nil, sha256: nil, moved: moved)
      )
    }
    let loan = budget.take(bare.range.count)
    let range = bare.range
    if loan != nil {
      let (bytes, digest) = try await context.pool.run {
        let bytes = try file.bytes(at: range.lowerBound, count: range.count)
        return (bytes, try Digest.hex(of: bytes, .sha256))
      }
      guard bytes.count == range.count else {
        throw Failure(.sourceChanged, "`\(file.path)` changed while it was sent: it ends early")
      }
      chunk.sha256 = digest
      return (
        chunk,
        try ChunkBody(
          file: file, range: range, buffer: bytes, loan: loan, sha256: digest, canAsk: true, moved: moved)
      )
    }
    chunk.sha256 = try await context.pool.run { try Self.sha256(range, of: file) }
    return (
      chunk,
      try ChunkBody(
        file: file, range: range, buffer: nil, loan: nil, sha256: chunk.sha256, canAsk: true, moved: moved)
    )
  }

  private static func sha256(_ range: Range<Int64>, of file: OpenFile) throws -> String {
    let digest = try StreamingDigest(.sha256)
    let count = try file.scan(range) { bytes in
      digest.update(bytes)
      return true
    }
    guard count == Int64(range.count) else {
      throw Failure(.sourceChanged, "`\(file.path)` changed while it was sent: it ends early")
    }
    return digest.finishHex()
  }

  private func record(_ chunk: UploadChunk, _ receipt: ChunkReceipt?, _ tries: Int) {
    book.progress.maxChunkAttempts = max(book.progress.maxChunkAttempts, tries)
    let record = ChunkRecord(
      offset: chunk.range.lowerBound, length: Int64(chunk.range.count), digest: chunk.sha256 ?? "",
      receipt: receipt?.token, attempts: tries)
    held[record.offset] = record
    noteProgress()
    book.record(record, index: chunk.index)
    book.count(requester.takeTally())
    book.saveNowAndThen()
  }
}

/// Indexes of chunks that wait to be sent.
struct ChunkQueue {
  private var waiting: ArraySlice<Int>
  init(_ indexes: [Int] = []) { waiting = indexes[...] }
  mutating func next() -> Int? { waiting.popFirst() }
}
