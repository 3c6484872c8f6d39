/// What can happen to a transfer's progress. Bytes are counts.
package enum ProgressEvent: Sendable, Hashable {
  /// Bytes came, or went.
  case moved(Int64)
  /// Bytes that were moved are of no use.
  case discarded(Int64)
  /// Bytes that were recorded are of no use; those that an earlier run moved are not counted in this one.
  case dropped(Int64)
  /// Bytes that counted as discarded were kept by the server all the same.
  case regained(Int64)
  /// Of all that this run has moved, only so much is of use: the rest was discarded, also where a kill left no word of it.
  /// Noted while nothing of the transfer is on its way.
  case onlyHeld(Int64)
  case requested(count: Int, retries: Int, status: Int?)
  /// A chunk has come to so many tries.
  case tried(Int)

  /// What the remote object is.
  case learned(RemoteObject)
  case etag(String)
  /// When the server says that an upload was written, where no tag and no version tells it from another.
  case modified(String?)
  /// The destination that the server's file name led to.
  case named(String)
  case sized(Int64)
  case laidOut(chunks: Int)
  /// Chunks are of this size from now on, whatever the manifest says.
  case chunked(Int64)
  /// `chunk_size: auto` comes to this, with the first chunk; of an upload, what its session agreed to.
  case chosen(chunk: Int64)
  /// A transfer starts afresh only so often.
  case startedAfresh(times: Int)

  /// What earlier attempts left is gone on with.
  case resumed(bytes: Int64, chunks: Int)
  /// Of what is gone on with, the disk does not hold so much as it was recorded; `discarded` bytes of it this run had moved.
  case spoilt(bytes: Int64, chunks: Int, discarded: Int64)
  case held(contiguous: Int64, chunks: Int)
  /// Of the chunks that are held at most so many are earlier attempts'.
  case reusedAtMost(chunks: Int)
  /// All of it is there, and none of it was moved.
  case reused(Int64)

  /// A session is open, for the source as it is.
  case opened(RemoteSession, FileFacts?)
  /// The session that is gone on with; nil where there is none for now.
  case session(RemoteSession?)
  case sessionExpires(at: Double)
  /// The request that makes the file appear is about to be sent.
  case finalizing
  case sessionEnded

  case hashed([DigestAlgorithm: String])
  case checked(Verification)
  /// Bytes are moved anew: what was compared before says nothing of them.
  case unproved
  /// The manifest expects only this by now of what stands.
  case expected(Expectation)
  /// The file with this inode is about to take the destination's name.
  case intended(UInt64?)
  /// What was written is this boot's to bring to the disk.
  case written(boot: String?)
  /// This file at the destination is the transfer's.
  case placed(FileFacts)
  /// A download's file took its name.
  case promoted(FileFacts, remoteID: String?, chunks: Int)
  /// A file that was there already is the one that was wanted.
  case adopted(FileFacts, [DigestAlgorithm: String], RemoteObject, remoteID: String?)
  /// The server has the file, proved.
  case uploaded(remoteID: String?, version: String?, etag: String?, [DigestAlgorithm: String], FileFacts?)
  /// What a server said of what was written, before it is proved.
  case wrote(WrittenObject)
  /// What the next request puts at the destination.
  case intends(WrittenObject)
  case source(FileFacts)
  /// What a copy reads, and who moves it; nil while nothing has to be moved.
  case copying(RemoteObject, CopiedBy?)
  /// What goes along with the bytes, and what does not.
  case attributes(KeptAttributes)
  case completed(at: Double)
  /// The attach request is about to be sent; nil: none is to be made any more.
  case attaching(AttachRecord?)
  /// The attach request was sent so many times, and came to this.
  case attachTried(Int, AttachRecord.State, status: Int?, at: Double)
  case restarted(RestartReason)
}

extension TransferProgress {
  package mutating func apply(_ event: ProgressEvent) {
    switch event {
    case .moved(let count): transferred += count
    case .discarded(let count): discarded += count
    case .dropped(let count): discarded = min(transferred, discarded + count)
    case .regained(let count): discarded = max(0, discarded - max(0, count))
    case .onlyHeld(let count): discarded = max(discarded, transferred - count)
    case .requested(let count, let more, let status):
      requests += count
      retries += more
      lastHTTPStatus = status ?? lastHTTPStatus
    case .tried(let tries): maxChunkAttempts = max(maxChunkAttempts, tries)

    case .learned(let object): remote = object
    case .etag(let etag): remote.etag = etag
    case .modified(let time): remote.lastModified = time
    case .named(let path): resolvedDestination = path
    case .sized(let bytes): size = bytes
    case .laidOut(let chunks): chunksTotal = chunks
    case .chunked(let bytes): chunkSize = bytes
    case .chosen(let bytes): automaticChunk = bytes
    case .startedAfresh(let times): freshStarts = times

    case .resumed(let bytes, let chunks):
      apply(.onlyHeld(bytes))
      reused = bytes
      chunksReused = chunks
    case .spoilt(let bytes, let chunks, let lost):
      reused = max(0, reused - bytes)
      chunksReused = max(0, chunksReused - chunks)
      discarded += lost
    case .held(let contiguous, let chunks):
      contiguousBytes = contiguous
      chunksCompleted = chunks
    case .reusedAtMost(let chunks): chunksReused = min(chunksReused, chunks, chunksCompleted)
    case .reused(let bytes): reused = bytes

    case .opened(let opened, let facts):
      session = opened
      sessionState = .open
      source = facts
    case .session(let other): session = other
    case .sessionExpires(let time): session?.expiresAt = time
    case .finalizing: sessionState = .finalizing
    case .sessionEnded:
      session = nil
      if sessionState != .none { sessionState = .closed }

    case .hashed(let found): digests = found
    case .checked(let check):
      verification.removeAll { $0.check == check.check && $0.against == check.against }
      verification.append(check)
    case .unproved: verification = []
    case .expected(let expect):
      let checks = expect.checks
      // What the manifest expected when it failed is not what stands.
      verification.removeAll {
        $0.against == .manifest && ($0.result == .mismatch || !checks.contains($0.check))
      }
    case .intended(let inode): intendedInode = inode
    case .written(let boot):
      bootID = boot
      isSynced = false
    case .placed(let facts): destination = facts
    case .promoted(let facts, let id, let chunks):
      destination = facts
      remoteID = id
      size = facts.size
      if facts.size > 0, chunksTotal == 0 { chunksTotal = chunks }
      apply(.held(contiguous: facts.size, chunks: chunksTotal))
    case .adopted(let facts, let found, let object, let id):
      remoteID = id
      destination = facts
      size = facts.size
      reused = facts.size
      digests = found
      remote = object
    case .uploaded(let id, let version, let etag, let found, let facts):
      apply(.sessionEnded)
      remoteID = id
      remote.version = version
      remote.etag = etag
      remote.lastModified = nil
      remote.size = size
      WrittenObject.forget(in: &remote)
      digests = found
      source = facts
      // The proof of an upload is the server's; nothing of ours has to reach the disk for it.
      isSynced = true
      apply(.held(contiguous: size ?? 0, chunks: chunksTotal))
    case .wrote(let object): object.record(in: &remote)
    case .intends(let object): object.recordIntended(in: &remote)
    case .source(let facts): source = facts
    case .copying(let object, let by):
      sourceObject = object
      copiedBy = by ?? copiedBy
    case .attributes(let kept): attributes = kept
    case .completed(let time): completedAt = time
    case .attaching(let record): attach = record
    case .attachTried(let tries, let state, let status, let time):
      attach?.tries += tries
      attach?.state = state
      if let status { attach?.status = status }
      attach?.at = time
      if state == .attached { attach?.request = nil }
    case .restarted(let reason): restart(reason)
    }
  }

  private mutating func restart(_ reason: RestartReason) {
    let kept = reason.keeps
    // What was given up is told with what was compared.
    if reason != .givenUp { verification = [] }
    if !kept.contains(.moved) { apply(.onlyHeld(0)) }
    apply(.held(contiguous: 0, chunks: 0))
    reused = 0
    chunksReused = 0
    session = nil
    sessionState = .none
    if !kept.contains(.chunkSize) {
      chunkSize = nil
      automaticChunk = nil
    }
    if !kept.contains(.intent) { intendedInode = nil }
    if !kept.contains(.completion) {
      let (written, intended) = (WrittenObject(self), WrittenObject(intendedIn: remote))
      defer {
        written?.record(in: &remote)
        intended?.recordIntended(in: &remote)
      }
      completedAt = nil
      digests = [:]
      verification = []
      remote = RemoteObject()
      remoteID = nil
      attributes = KeptAttributes()
      attach = nil
    }
    if !kept.contains(.failure) {
      failure = nil
      failedAt = nil
    }
  }
}
