import Endpoints
import HTTPClient
import JobLedger
import JobModel

/// What can be settled before a byte is sent: uploads that still stand, files that are there already.
struct UploadSettling {
  let scope: UploadScope
  let source: SendingSource
  private var record: TransferRecord { scope.record }
  private var look: DestinationLook { DestinationLook(scope: scope, source: source) }

  enum Finding {
    case end(TransferEnd)
    /// The file stands there, and only the record of that was lost.
    case uploaded(UploadedFile)
    case mustMove
  }

  nonisolated(nonsending) func find() async throws -> Finding {
    if record.progress.completedAt != nil {
      if let end = try await standing() { return .end(end) }
      forgetCompletion()
      guard source.request.mustBeNew else { return .mustMove }
    }
    let isIntended = record.progress.session == nil && record.progress.sessionState == .finalizing
    if source.request.mustBeNew, let own = WrittenObject(recordedIn: record.progress.remote),
      case .object(let object, _)? = try await scope.sink.look(.retried), own.isSame(as: object)
    {
      if isIntended, own.mayBe(WrittenObject(intendedIn: record.progress.remote)),
        let file = try await uploaded()
      {
        return .uploaded(file)
      }
      source.replacesOwn()
      return .mustMove
    }
    if source.request.mustBeNew, isIntended, let file = try await uploaded() { return .uploaded(file) }
    // Of the same source, a session that was about to be closed is asked first: its parts may prove what stands there. What
    // is known of a copy's bytes may be gone.
    let isClosing =
      source.copy == nil && record.progress.session != nil && record.progress.sessionState == .finalizing
    if source.request.mustBeNew, !isClosing,
      let intended = WrittenObject(intendedIn: record.progress.remote),
      let file = try await look.finds(intended)
    {
      // Killed so, and the source is another one by now, or everything was to begin anew.
      source.wrote(file)
      return .mustMove
    }
    guard record.progress.session == nil, let found = try await look.first() else { return .mustMove }
    switch found {
    case .nothing: return .mustMove
    case .object(let object, _):
      if try await adopts(object) { return .end(.settled(.adopted)) }
    // A credential that is refused here is refused for the bytes.
    case .hidden(let failure) where failure.code == .unauthorized: throw failure
    case .hidden(let failure), .failed(let failure):
      // A server that can't or won't be asked leaves the question open: `keep` and `fail` must not guess. A folder no file replaces.
      guard scope.settings.ifExists == .replace, failure.code != .destinationExists else { throw failure }
      return .mustMove
    }
    switch scope.settings.ifExists {
    case .replace: return .mustMove
    case .keep: return .end(.skipped(.exists))
    case .fail: throw Failure(.destinationExists, "there is a file at \(scope.sink.lookedAt) already")
    }
  }

  /// What the only request has put there, whose answer, or its proof, a kill took.
  private nonisolated(nonsending) func uploaded() async throws -> UploadedFile? {
    try await look.uploaded(nil, [], try await source.digests.whole())
  }

  /// Takes what stands there for the upload, where digests say that it is.
  private nonisolated(nonsending) func adopts(_ object: RemoteObject) async throws -> Bool {
    let told = look.told(object)
    guard object.size == source.request.size, !told.isEmpty else { return false }
    // What an earlier attempt compared was not this, or with what the manifest said then.
    record.note(.unproved)
    let mine = try await source.digests.whole(also: told.keys)
    if source.copy == nil { try source.checkExpected(mine) }
    let known = told.filter { mine[$0.key] != nil }
    guard !known.isEmpty, known.allSatisfy({ mine[$0.key] == $0.value }) else { return false }
    // No byte of a copy was read: what the manifest expects is only known to be so by what both ends told, or by its bytes.
    if let copy = source.copy { try await copy.checkExpected(known, mayRead: true) }
    try await source.checkType()
    guard try await UploadAttributes(scope: scope, source: source).adopt(object) else { return false }
    for algorithm in known.keys.sorted(by: { $0.rawValue < $1.rawValue }) {
      record.check(Verification(algorithm.rawValue, .server, .match))
    }
    source.complete(scope.traits.file(object), digests: mine)
    record.note(.reused(source.request.size))
    record.note(.completed(at: scope.context.client.clock.now()))
    return true
  }

  /// How the transfer ends where its recorded completion still stands.
  private nonisolated(nonsending) func standing() async throws -> TransferEnd? {
    let (progress, now) = (record.progress, source.file.facts)
    // One that another transfer has left is not this one's before its content was compared.
    let isContradicted = progress.contradicts(scope.expect)
    if record.refresh == .never, progress.source?.inode != 0, !isContradicted { return record.standing() }
    guard record.refresh != .always, let recorded = progress.source else {
      record.fallen = .asked
      return nil
    }
    // What the source of a copy holds shows when it is read.
    if isContradicted, source.copy != nil {
      record.fallen = .sourceChanged
      return nil
    }
    var reason: TransferState.UpToDateReason?
    // Times say nothing of a record that another transfer has left.
    if recorded.inode == 0 || !(recorded.size == now.size && recorded.mtime == now.mtime)
      || scope.context.checksEverything
    {
      // Another fingerprint is another content; the same one is only a hint, and the digest is the proof.
      guard recorded.size == now.size, recorded.fingerprint == nil || recorded.fingerprint == now.fingerprint,
        let old = progress.digests[.sha256], try await sha256() == old
      else {
        record.fallen = .sourceChanged
        return nil
      }
      reason = recorded.mtime == now.mtime ? nil : .duplicate
    }
    if scope.expect.digests.contains(where: { progress.digests[$0.key] == nil }) {
      if let copy = source.copy {
        try await copy.checkExpected(progress.digests, mayRead: true)
      } else {
        try source.checkExpected(try await source.digests.whole())
      }
      // They are the bytes', which are not read for them in each run.
      record.note(.hashed(progress.digests.merging(scope.expect.digests) { old, _ in old }))
    } else {
      try source.checkExpected(progress.digests)
    }
    try await source.checkType()
    record.note(.expected(scope.expect))
    let isProved = scope.settings.isProved(by: record.progress.verification)
    let file = UploadedFile(
      remoteID: progress.remoteID, version: progress.remote.version, etag: progress.remote.etag)
    record.fallen = .destinationChanged
    var known = progress.remote
    known.size = source.request.size
    // Another mode leaves the file's time as it was, and no listing tells of either.
    let attributes = UploadAttributes(scope: scope, source: source)
    let compares = source.copy == nil && recorded.ctime != now.ctime && !attributes.followed.isEmpty
    var isListed = false
    if !compares, isProved { isListed = try await scope.listed.isAsRecorded(known) }
    var there = RemoteObject()
    // What stands under the name now is what counts; a service that knows only ids is asked by id.
    if !isListed {
      switch try await scope.sink.look(for: file) {
      case nil, .hidden: break
      case .nothing: return nil
      case .failed(let failure): throw failure
      case .object(let seen, _):
        guard record.progress.isAtDestination(seen, size: source.request.size) else { return nil }
        there = seen
      }
    }
    if compares, try !attributes.follow(there.attributes) {
      record.fallen = .sourceChanged
      return nil
    }
    record.fallen = nil
    if !isProved, let reason = try await prove(file, as: there) {
      record.fallen = reason
      return nil
    }
    record.note(.source(now))
    if !record.isCompletedInThisRun { record.note(.reused(source.request.size)) }
    return record.standing(reason)
  }

  /// Proves a completion that was recorded when `verify` demanded less.
  ///
  /// - Returns: why it is sent again; nil where it stands.
  private nonisolated(nonsending) func prove(
    _ uploaded: UploadedFile, as seen: RemoteObject
  ) async throws -> MovedBecause? {
    let (verify, told) = (scope.settings.verify, look.told(seen))
    let mine = try await digests(verify == .readback ? [.sha256] : Set(told.keys))
    let proof = UploadProof(scope: scope, source: source, proofs: ChunkProofs(scope, source))
    do {
      if verify == .readback {
        try proof.compare(try await look.readBack(uploaded), mine)
      } else {
        var file = uploaded
        file.digests = look.ownWord(seen)
        // An ETag that is no MD5 proves nothing, and speaks against nothing.
        if scope.traits.etagsMayBeMD5, let md5 = told[.md5], mine[.md5] == md5 {
          file.checks = [Verification("md5", .server, .match)]
        }
        try proof.compare(file, mine)
      }
    } catch let failure as Failure where failure.code == .integrityMismatch {
      return .damaged
    } catch let failure as Failure where failure.code == .digestUnavailable && verify == .required {
      // What the answers to its bytes prove shows when they are sent.
      return .asked
    }
    if let sha256 = mine[.sha256] {
      record.note(.hashed(record.progress.digests.merging([.sha256: sha256]) { $1 }))
    }
    return nil
  }

  /// The source's digests: those on record, and these.
  private nonisolated(nonsending) func digests(
    _ wanted: Set<DigestAlgorithm>
  ) async throws -> [DigestAlgorithm: String] {
    let known = record.progress.digests
    let unknown = wanted.subtracting(known.keys)
    guard !unknown.isEmpty else { return known }
    guard let copy = source.copy else {
      return known.merging(try await source.digests.whole(also: unknown)) { old, _ in old }
    }
    return known.merging(try await copy.of(0..<copy.size, unknown)) { old, _ in old }
  }

  private nonisolated(nonsending) func sha256() async throws -> String? {
    guard let copy = source.copy else { return try await source.digests.whole()[.sha256] }
    return try await copy.of(0..<copy.size, [.sha256])[.sha256]
  }

  private func forgetCompletion() {
    let now = source.file.facts
    // Bytes that were read, and are others, have other digests, whatever size and times say.
    if record.fallen != .sourceChanged, let recorded = record.progress.source,
      recorded.isSameContent(as: now), recorded.inode == now.inode, recorded.ctime == now.ctime
    {
      source.recorded = record.progress.digests
    }
    record.restart(.completionGone)
    if let copy = source.copy { record.note(.copying(copy.object, nil)) }
    scope.live.setDone(0)
    // What stands there is replaced, if by the same bytes.
    record.note(.onlyHeld(0))
  }
}
