import Endpoints
import JobLedger
import JobModel

/// What can be settled before a byte is sent: uploads that still stand, files that are there already.
extension Upload {
  func settleWithoutMoving() async throws -> TransferEnd? {
    if book.progress.completedAt != nil {
      if let settled = try await standing() { return settled }
      forgetCompletion()
      return nil
    }
    if source.mustBeNew, book.progress.session == nil, book.progress.sessionState == .finalizing,
      let file = try await finishedAlready(try await wholeDigests())
    {
      // Killed between the answer to the only request and its record.
      try await prove(file)
      return .finished
    }
    guard book.progress.session == nil, let found = try await lookOver() else { return nil }
    let object: RemoteObject
    switch found {
    case .nothing: return nil
    case .object(let there, _): object = there
    case .hidden(let failure), .failed(let failure):
      // A server that can't or won't be asked leaves the question open: `keep` and `fail` must not guess.
      guard settings.ifExists == .replace else { throw failure }
      return nil
    }
    let told = told(object)
    if object.size == source.size, !told.isEmpty {
      let mine = try await wholeDigests(also: told.keys)
      try checkExpected(mine)
      if told.allSatisfy({ mine[$0.key] == $0.value }) {
        for algorithm in told.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
          book.check(Verification(algorithm.rawValue, .server, .match))
        }
        complete(traits.file(object), digests: mine)
        book.note(.reused(source.size))
        book.note(.completed(at: context.clock.now()))
        return .settled(.adopted)
      }
    }
    switch settings.ifExists {
    case .replace: return nil
    case .keep: return .skipped(.exists)
    case .fail: throw Failure(.destinationExists, "there is a file at \(sink.lookedAt) already")
    }
  }

  /// What stands at the destination, where that is worth a request; nil where it is not, or nobody knows.
  private func lookOver() async throws -> FoundFile? {
    if settings.ifExists != .replace || abilities.provesWholeFile { return try await sink.look(.retried) }
    guard traits.mayTellDigests, context.adoptions.isWorthAsking(sink.origin, size: source.size) else {
      return nil
    }
    // Only an offer: what fails here is no reason not to send the file.
    var found: FoundFile?
    do { found = try await sink.look(.once) } catch  where error is Failure || error is TransportError {}
    var tellsDigest = false
    if case .object(let object, _)? = found { tellsDigest = !object.digests.isEmpty }
    context.adoptions.note(sink.origin, tellsDigest: tellsDigest)
    return found
  }

  /// Whether a recorded completion still stands.
  private func standing() async throws -> TransferEnd? {
    // One that another transfer has left is not this one's before its content was compared.
    if book.refresh == .never, book.progress.source?.inode != 0 { return book.standing() }
    guard book.refresh != .always, let recorded = book.progress.source, let now = opened?.facts else {
      book.fallen = .asked
      return nil
    }
    var reason: TransferState.UpToDateReason?
    // Times say nothing of a record that another transfer has left.
    if recorded.inode == 0 || !(recorded.size == now.size && recorded.mtime == now.mtime)
      || context.checksEverything
    {
      // Another fingerprint is another content; the same one is only a hint, and the digest is the proof.
      guard recorded.size == now.size, recorded.fingerprint == nil || recorded.fingerprint == now.fingerprint,
        let old = book.progress.digests[.sha256], try await wholeDigests()[.sha256] == old
      else {
        book.fallen = .sourceChanged
        return nil
      }
      reason = recorded.mtime == now.mtime ? nil : .duplicate
    }
    if !expect.digests.isEmpty {
      let known = book.progress.digests
      if expect.digests.contains(where: { known[$0.key] == nil }) {
        try checkExpected(try await wholeDigests())
      } else {
        try checkExpected(known)
      }
    }
    try await checkType()
    let file = UploadedFile(
      remoteID: book.progress.remoteID, version: book.progress.remote.version, etag: book.progress.remote.etag
    )
    book.fallen = .destinationChanged
    // What stands under the name now is what counts; a service that knows only ids is asked by id.
    switch try await sink.look(for: file) {
    case nil, .hidden: break
    case .nothing: return nil
    case .failed(let failure): throw failure
    case .object(let seen, _): guard isRecorded(seen) else { return nil }
    }
    book.fallen = nil
    book.note(.source(now))
    if !book.isCompletedInThisRun { book.note(.reused(source.size)) }
    return book.standing(reason)
  }

  /// Nothing speaks against its being the file that is on record.
  private func isRecorded(_ seen: RemoteObject) -> Bool {
    if let size = seen.size, size != source.size { return false }
    let known = book.progress.digests
    let told = seen.digests.filter { known[$0.key] != nil }
    if told.isEmpty, let old = book.progress.remote.etag, let new = seen.etag { return old == new }
    return told.allSatisfy { known[$0.key] == $0.value }
  }

  private func forgetCompletion() {
    // Bytes that were read, and are others, have other digests, whatever size and times say.
    if book.fallen != .sourceChanged, let recorded = book.progress.source, let now = opened?.facts,
      recorded.isSameContent(as: now), recorded.inode == now.inode, recorded.ctime == now.ctime
    {
      recordedSource = book.progress.digests
    }
    forgetChunks(.completionGone)
    // What stands there is replaced, if by the same bytes.
    book.note(.onlyHeld(0))
  }

  func checkExpected(_ found: [DigestAlgorithm: String]) throws {
    for (algorithm, digest) in expect.digests.sorted(by: { $0.key.rawValue < $1.key.rawValue }) {
      let matches = found[algorithm] == digest
      book.check(Verification(algorithm.rawValue, .manifest, matches ? .match : .mismatch))
      guard matches else {
        throw Failure(
          .integrityMismatch,
          "\(algorithm.rawValue) of `\(book.transfer.source.text)` is \(found[algorithm] ?? "unknown"), the manifest expects \(digest)",
          expected: digest, actual: found[algorithm])
      }
    }
  }

  /// Notes what the server said of the finished file.
  func complete(_ uploaded: UploadedFile, digests: [DigestAlgorithm: String]) {
    book.note(
      .uploaded(
        remoteID: uploaded.remoteID, version: uploaded.version, etag: uploaded.etag, digests,
        opened?.recorded))
    context.writer.submit(.noChunks(seq: book.transfer.seq))
    held = HeldChunks()
  }
}
