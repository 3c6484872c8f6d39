import Digests
import JobLedger
import JobModel
import Endpoints

/// The whole of the sending, with its repairs: sessions that are gone, sources that changed, digests that differ.
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
        let isDamaged = gone.failure.code == .integrityMismatch
        book.warn(
          isDamaged
            ? "the server can't replace a part that it took damaged: a new upload is opened"
            : "the server no longer knows the upload session: a new one is opened")
        if !isDamaged, [404, 410].contains(gone.failure.httpStatus), abilities.renewsSessions {
          lostSession = book.progress.session
          book.progress.session = nil
        } else {
          book.keepOnly(0)
          // One that the server knows and will not have takes room there until it is ended.
          if ![404, 410].contains(gone.failure.httpStatus) { await abandonSession() }
          forgetChunks()
        }
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
        let smaller = abilities.chunkSize(wanted: max(65_536, source.chunkSize / 4), of: source.size)
        source.chunkSize = min(source.chunkSize, smaller)
        book.progress.chunkSize = source.chunkSize
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
    let size = book.progress.session?.chunkSize ?? source.chunkSize
    let chunks = held.values.sorted { $0.offset < $1.offset }
    let named = chunks.prefix(32).map { "\($0.offset / max(1, size)):\($0.digest)" }.joined(separator: " ")
    let more = chunks.count > 32 ? " and \(chunks.count - 32) more" : ""
    return
      "\(failure.message); expected \(failure.expected ?? "?"), server \(failure.actual ?? "?"); chunks \(named)\(more)"
  }

  private func startOver() async throws {
    recordedSource = [:]
    await abandonSession()
    book.keepOnly(0)
    forgetChunks()
    digests?.cancel()
    digests = nil
    inlineDigests = nil
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
    source.contentName = try contentName(of: facts, size: now.size)
    book.progress.size = now.size
    live.setSize(now.size)
  }

  /// Asks again what the session holds; true where something is missing and can be sent.
  private func dropWhatDiffers() async throws -> Bool {
    guard let session = book.progress.session, case .value(let holdings) = try await holdings(of: session),
      holdings.offset == nil
    else { return false }
    let layout = ChunkLayout(size: source.size, chunkSize: session.chunkSize)
    var lost: [ChunkRecord] = []
    for record in held.values {
      let chunk = holdings.chunks[Int(record.offset / layout.chunkSize)]
      if let chunk, try await vouched(chunk, record.range, record) != nil { continue }
      lost.append(record)
    }
    drop(lost)
    return !lost.isEmpty || holdings.chunks.count < layout.count
  }
}
