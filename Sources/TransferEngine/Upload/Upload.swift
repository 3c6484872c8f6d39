import CPosix
import Digests
import Endpoints
import Glibc
import JobLedger
import JobModel
import LocalFiles

/// One upload, from wherever its record stands to the file that the server has confirmed.
actor Upload {
  nonisolated private let executor: any SerialExecutor
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  let book: TransferRecord
  let context: EngineContext
  let requester: Requester
  let sink: any RemoteSink
  let live: LiveTransfer
  let budget: BufferBudget
  var file: OpenFile?
  var source = UploadSource(size: 0, contentType: "", chunkSize: 1)
  /// The whole file's digests, computed beside the sending.
  var digests: Task<[DigestKind: String], any Error>?
  /// Those of a small file.
  var inlineDigests: [DigestAlgorithm: String]?
  /// Chunks that the server holds, by offset.
  var held: [Int64: ChunkRecord] = [:]
  /// By offset: the digest by which the answer to a body showed that the server took what was sent.
  var proved: [Int64: DigestAlgorithm] = [:]
  var lostSessions = 0
  /// The byte that a recovered session was taken up at, where it counts bytes.
  var resumedAt: Int64?
  /// When the session has to be renewed.
  var sessionClock = SessionClock()
  /// One that the server no longer knows: the next one is asked to hold what it held.
  var lostSession: RemoteSession?
  /// Bytes that a session held at most that took the place of another.
  var mostHeld: Int64 = 0
  /// The server knew the session that it was asked to create.
  var isReplayed = false
  /// Chunks that are on their way, by index.
  var sending: Set<Int> = []
  var pending = ChunkQueue()
  /// What the source was when its snapshot was taken: a later run compares the source with this.
  var snapshotOriginal: FileFacts?

  init(
    _ transfer: LedgerTransfer, sink: any RemoteSink, requester: Requester, context: EngineContext,
    live: LiveTransfer, budget: BufferBudget, stop: StopFlag = StopFlag()
  ) {
    executor = context.transport.executor
    book = TransferRecord(transfer, context: context, stop: stop)
    self.sink = sink
    self.requester = requester
    self.context = context
    self.live = live
    self.budget = budget
  }

  var settings: TransferSettings { book.transfer.settings }
  var traits: any UploadTraits { sink.traits }
  var abilities: UploadAbilities { traits.abilities(of: source.size) }
  var expect: Expectation { book.transfer.expect }

  func run(release: @Sendable () -> Void) async {
    book.begin()
    var end: TransferEnd
    do {
      try await openSource()
      if let settled = try await settleWithoutMoving() {
        end = settled
      } else {
        book.noteMove()
        try await sendAndVerify()
        end = .finished
      }
    } catch  where error is CancellationError || error is LedgerError {
      // What the state can't take ends the run, which says why, once.
      end = .stopped
    } catch let failure as Failure where failure.code == .destinationExists && settings.ifExists == .keep {
      // It came to be there while the upload was under way.
      await abandonSession()
      forgetChunks(.givenUp)
      end = .skipped(.exists)
    } catch {
      end = .failed(Failure(error))
    }
    release()
    digests?.cancel()
    if end.dropsProgress(book.stop.event) {
      // The task may be cancelled, and its requests with it.
      await Task { await self.abandonSession() }.value
      book.note(.onlyHeld(0))
    }
    book.count(requester.takeTally())
    noteProgress()
    book.end(end)
    if end.isOver(book.stop.event) { await dropSnapshot() }
  }

  var finalState: TransferState { book.state }

  /// Opens the source and looks at what it is; a change since the last attempt ends the old session's use.
  private func openSource() async throws {
    let path = book.transfer.source.localPath ?? ""
    let full = RelativePath.isAbsolute(path) ? path : context.folder.path + "/" + path
    let file = try await snapshotted(full)
    var facts = try file.facts()
    facts.fingerprint = try Fingerprint(size: facts.size) { offset, count in
      try file.bytes(at: offset, count: count)
    }.description
    self.file = file
    if let old = book.progress.source, !old.isSameContent(as: facts), book.progress.completedAt == nil {
      book.warn("the source changed since the last attempt: the upload starts anew")
      await abandonSession()
      forgetChunks(.contentChanged)
    }
    source = UploadSource(
      size: facts.size, contentType: settings.contentType ?? ContentTypes.of(path),
      chunkSize: try wantedChunk(facts.size), fingerprint: facts.fingerprint,
      contentName: try contentName(of: file, size: facts.size),
      mustBeNew: settings.ifExists != .replace && book.progress.completedAt == nil)
    currentFacts = facts
    try checkSize()
    book.note(.sized(facts.size))
    live.setSize(facts.size)
  }

  /// What the manifest says of the source itself, which no server has to be asked for.
  func checkKnown() async throws {
    try checkSize()
    try await checkType()
  }

  private func checkSize() throws {
    guard let size = expect.size, size != source.size else { return }
    throw Failure(
      .lengthMismatch, "`\(book.transfer.source.text)` has \(source.size) bytes, \(size) are expected",
      expected: String(size), actual: String(source.size))
  }

  /// The source's digests that need no reading: expected ones, and those on record of a file that has not changed.
  var knownDigests: [DigestAlgorithm: String] { recordedSource.merging(expect.digests) { $1 } }
  var recordedSource: [DigestAlgorithm: String] = [:]

  var currentFacts: FileFacts?

  /// The fingerprint over the transfer's id and the content, where the protocol opens its sessions with it.
  func contentName(of file: OpenFile, size: Int64) throws -> String? {
    guard traits.abilities.namesContent else { return nil }
    return try Fingerprint(size: size, prefix: Array(book.id.utf8)) { offset, count in
      try file.bytes(at: offset, count: count)
    }.description
  }

  private var snapshotPath: String { "\(context.stateFolder)/snapshots/\(context.tag(book.id))" }

  /// The source, or the private copy of it that `snapshot` asks for; the copy of an unfinished upload is kept.
  private func snapshotted(_ path: String) async throws -> OpenFile {
    guard settings.snapshot != .none else { return try OpenFile.reading(path) }
    if book.progress.session != nil, let copy = try? OpenFile.reading(snapshotPath) { return copy }
    let (source, rule, target) = (try OpenFile.reading(path), settings.snapshot, snapshotPath)
    let original = try source.facts()
    if book.progress.completedAt != nil, let recorded = book.progress.source, original.size == recorded.size,
      original.mtime == recorded.mtime
    {
      // Nothing may have to be sent: no copy is made before that is known to be otherwise.
      return source
    }
    mkdir("\(context.stateFolder)/snapshots", 0o700)
    try await context.pool.run { try Snapshot.make(source, rule, at: target) }
    snapshotOriginal = original
    return try OpenFile.reading(target)
  }

  /// Removes the copy once it is on record that nothing will be sent from it again: without it, another attempt
  /// would take what the source is by then for a change.
  private func dropSnapshot() async {
    guard settings.snapshot != .none, (try? await context.writer.barrier()) != nil else { return }
    unlink(snapshotPath)
  }

  /// Throws when the source is no longer what it was when the upload began.
  func checkSource() throws {
    guard let file, let began = currentFacts else { return }
    let now = try file.facts()
    guard now.size == began.size, now.mtime == began.mtime else {
      throw Failure(.sourceChanged, "`\(file.path)` changed while it was sent")
    }
    // Most tools replace a file by renaming a new one over it: the open one would never show that.
    var status = stat()
    guard stat(file.path, &status) == 0 else {
      throw Failure(.sourceMissing, "`\(file.path)` was removed while it was sent")
    }
    guard FileFacts(status).inode == began.inode else {
      throw Failure(.sourceChanged, "`\(file.path)` was replaced while it was sent")
    }
  }

  /// - Throws: `Failure` where no chunk would ever come through.
  private func wantedChunk(_ size: Int64) throws -> Int64 {
    let taken = chosenChunk(size)
    if let budget = settings.policy.budget, abilities(size).order != .byOffset,
      min(taken, size) > budget.bytes
    {
      throw Failure(
        .policyDenied,
        "the budget of \(budget.bytes) bytes a \(budget.period.rawValue) is less than the \(min(taken, size)) bytes that `\(book.transfer.destination.text)` takes at once: it could never be sent; nothing was. Raise `budget`, or lower `chunk_size`"
      )
    }
    return taken
  }

  private func abilities(_ size: Int64) -> UploadAbilities { traits.abilities(of: size) }

  private func chosenChunk(_ size: Int64) -> Int64 {
    if let smaller = book.progress.chunkSize {
      return traits.abilities(of: size).chunkSize(wanted: smaller, of: size)
    }
    let abilities = traits.abilities(of: size)
    let begun = book.progress.session?.chunkSize ?? (book.hasChunks ? book.progress.automaticChunk : nil)
    var configured = settings.chunkSize.bytes(
      of: size, chosen: begun, rate: context.rate(for: book.transfer),
      least: abilities.minimumChunk, most: abilities.maximumChunks)
    if settings.chunkSize == .auto, begun == nil, let limit = context.chunkLimits[sink.origin] {
      configured = min(configured, limit)
    }
    if let most = mostUnderBudget(abilities), most < min(configured, size) {
      book.warn(
        "chunks are \(most) bytes in place of \(configured): a spent budget throws away those under way")
      configured = most
    }
    let taken = abilities.chunkSize(wanted: configured, of: size)
    if taken != configured, size > min(taken, configured), abilities.minimumChunk < .max {
      book.warn(
        "chunks are \(taken) bytes, as the protocol demands, in place of \(configured)",
        hint: "set `chunk_size: \(taken)` to say so yourself")
    }
    return taken
  }

  /// A chunk is held whole or not at all: of those under way when a budget is spent nothing is left, so that they must
  /// be a part of it together.
  private func mostUnderBudget(_ abilities: UploadAbilities) -> Int64? {
    guard let budget = settings.policy.budget, abilities.order != .byOffset, abilities.minimumChunk < .max
    else {
      return nil
    }
    let inFlight = Int64(abilities.isParallel ? max(1, settings.policy.chunksInFlight) : 1)
    return max(Self.leastChunk, budget.bytes / (2 * inFlight * Int64(max(1, settings.policy.transfers))))
  }

  private static let leastChunk: Int64 = 16 * 1024

  /// Digests to compute of the source: SHA-256 always, what the manifest expects, what the server tells.
  private var wantedDigests: Set<DigestAlgorithm> {
    Set(expect.digests.keys).union(abilities.fileDigests).union([.sha256])
  }

  /// It was read whole for its fingerprint, and is hashed in less time than another thread is asked in.
  private var isSmall: Bool { source.size <= 16 << 10 }

  /// Runs what reads and hashes the source, or a part of it: a small one at once, else in the pool.
  func hashing<Value: Sendable>(_ work: @escaping @Sendable () throws -> Value) async throws -> Value {
    isSmall ? try work() : try await context.pool.run(work)
  }

  /// `wholeDigests()`, and these besides: what was not foreseen takes another reading.
  func wholeDigests(also more: some Sequence<DigestAlgorithm>) async throws -> [DigestAlgorithm: String] {
    var found = try await wholeDigests()
    let missing = Set(more).subtracting(found.keys)
    guard !missing.isEmpty, let file else { return found }
    let late: [DigestAlgorithm: String]
    if isSmall {
      late = try ChunkDigests.of(0..<source.size, of: file, missing)
    } else {
      let kinds = Set(missing.map(\.kind))
      late = DigestAlgorithm.named(
        try await TrailingDigest(kinds, of: file, pool: context.pool).finish(size: source.size))
    }
    found.merge(late) { old, _ in old }
    return found
  }

  func wholeDigests() async throws -> [DigestAlgorithm: String] {
    guard let file else { throw Failure(.internal, "the source is not open") }
    if isSmall {
      let found = try inlineDigests ?? ChunkDigests.of(0..<source.size, of: file, wantedDigests)
      inlineDigests = found
      return found
    }
    let task = digests ?? digesting(file)
    digests = task
    let found = try await withTaskCancellationHandler {
      try await task.value
    } onCancel: {
      task.cancel()
    }
    return DigestAlgorithm.named(found)
  }

  /// Begins the digest, so that it goes on beside the sending.
  func beginDigest() {
    guard digests == nil, !isSmall, let file, settings.verify != .size || !expect.digests.isEmpty else {
      return
    }
    digests = digesting(file)
  }

  private func digesting(_ file: OpenFile) -> Task<[DigestKind: String], any Error> {
    let (kinds, size, pool) = (Set(wantedDigests.map(\.kind)), source.size, context.pool)
    return Task { try await TrailingDigest(kinds, of: file, pool: pool).finish(size: size) }
  }

  func forgetChunks(_ reason: RestartReason) {
    held = [:]
    proved = [:]
    resumedAt = nil
    book.restart(reason)
    live.setDone(0)
  }

  func noteProgress() {
    var ranges = ByteRanges()
    for record in held.values { ranges.insert(record.range) }
    guard !held.isEmpty else { return }
    book.note(.held(contiguous: ranges.contiguous, chunks: completeChunks))
  }

  /// Chunks that the server holds whole; where it counts bytes, a record may be a part of one.
  var completeChunks: Int {
    guard abilities.order == .byOffset, let session = book.progress.session else { return held.count }
    var ranges = ByteRanges()
    for record in held.values { ranges.insert(record.range) }
    let layout = ChunkLayout(size: source.size, chunkSize: session.chunkSize)
    return ranges.contiguous >= source.size ? layout.count : Int(ranges.contiguous / layout.chunkSize)
  }
}

extension FileFacts {
  /// Whether a file is what it was: its times and inode, or else its fingerprint, say so.
  func isSameContent(as other: FileFacts) -> Bool {
    guard size == other.size else { return false }
    if mtime == other.mtime, ctime == other.ctime, inode == other.inode { return true }
    return mtime == other.mtime && fingerprint != nil && fingerprint == other.fingerprint
  }
}
