import Endpoints
import JobLedger
import JobModel
import LocalFiles

/// The whole of the sending, with its repairs: sessions that are gone, sources that changed, digests that differ.
extension Upload {
  func sendAndVerify() async throws {
    var repairs = 0
    while true {
      do {
        try await prove(try await sendOnce())
        return
      } catch let failure as Failure {
        switch failure.class {
        case .sessionGone: try await openAnother(after: failure)
        case .sourceChanged:
          guard book.progress.freshStarts == 0 else { throw failure }
          book.note(.startedAfresh(times: 1))
          book.warn("\(failure.message): a new session is opened")
          try await startOver(.contentChanged)
        case .damaged:
          repairs += 1
          try await repair(after: failure, round: &repairs)
        case .transient, .deferred, .credentialExpired, .objectChanged, .rangesUnserved, .denied, .permanent:
          throw failure
        }
      }
    }
  }

  /// Forgets a session that is gone, or that can't be completed; what it held is asked for when its successor is opened.
  private func openAnother(after failure: Failure) async throws {
    lostSessions += 1
    guard lostSessions < settings.policy.retryAttempts else { throw failure }
    let isDamaged = failure.code == .integrityMismatch
    book.warn(
      isDamaged
        ? "the server can't replace a part that it took damaged: a new upload is opened"
        : "the server no longer knows the upload session: a new one is opened")
    if !isDamaged, failure.isGoneThere, abilities.renewsSessions {
      lostSession = book.progress.session
      book.note(.session(nil))
    } else {
      // One that the server knows and will not have takes room there until it is ended.
      if !failure.isGoneThere { await abandonSession() }
      forgetChunks(.sessionGone)
    }
    try await requester.wait(after: failure, lost: lostSessions)
  }

  /// After a mismatch: first what the server does not hold as it was sent, then everything once more, in smaller chunks.
  private func repair(after failure: Failure, round: inout Int) async throws {
    // The manifest's own expectation is about the source: sending it again changes nothing.
    let isOurs = book.progress.verification.contains { $0.against == .manifest && $0.result == .mismatch }
    guard !isOurs, round <= 2 else { throw failure }
    book.warn(diagnosis(failure))
    if round == 1, try await dropWhatDiffers() { return }
    guard round == 1 || book.progress.chunkSize == nil else { throw failure }
    round = 2
    let smaller = abilities.chunkSize(wanted: max(65_536, source.chunkSize / 4), of: source.size)
    source.chunkSize = min(source.chunkSize, smaller)
    book.note(.chunked(source.chunkSize))
    try await startOver(.damaged)
  }

  private func diagnosis(_ failure: Failure) -> String {
    let size = book.progress.session?.chunkSize ?? source.chunkSize
    let chunks = held.sorted
    let named = chunks.prefix(32).map { "\($0.offset / max(1, size)):\($0.digest)" }.joined(separator: " ")
    let more = chunks.count > 32 ? " and \(chunks.count - 32) more" : ""
    return
      "\(failure.message); expected \(failure.expected ?? "?"), server \(failure.actual ?? "?"); chunks \(named)\(more)"
  }

  private func startOver(_ reason: RestartReason) async throws {
    recordedSource = [:]
    await abandonSession()
    forgetChunks(reason)
    guard let now = try opened?.reopened() else { return }
    opened = now
    digests = digests(of: now)
    source.size = now.facts.size
    source.fingerprint = now.facts.fingerprint
    source.contentName = try contentName(of: now)
    book.note(.sized(source.size))
    live.setSize(source.size)
  }

  /// Asks again what the session holds; true where something is missing and can be sent.
  private func dropWhatDiffers() async throws -> Bool {
    guard let session = book.progress.session,
      case .value(let holdings) = try await sink.holdings(of: session, source: source),
      holdings.offset == nil
    else { return false }
    let layout = ChunkLayout(size: source.size, chunkSize: session.chunkSize)
    var lost: [ChunkRecord] = []
    for record in held.sorted {
      let chunk = holdings.chunks[Int(record.offset / layout.chunkSize)]
      if let chunk, try await vouched(chunk, record.range, record) != nil { continue }
      lost.append(record)
    }
    drop(lost)
    return !lost.isEmpty || holdings.chunks.count < layout.count
  }
}
