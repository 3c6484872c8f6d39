import Endpoints
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
  var opened: SourceFile?
  var source = UploadSource(size: 0, contentType: "", chunkSize: 1)
  var digests: SourceDigests?
  var held = HeldChunks()
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
    if end.isOver(book.stop.event) { await SourceFile.dropCopy(of: book) }
  }

  var finalState: TransferState { book.state }

  var file: OpenFile? { opened?.file }

  /// Opens the source and looks at what it is; a change since the last attempt ends the old session's use.
  private func openSource() async throws {
    let path = book.transfer.source.localPath ?? ""
    let full = RelativePath.isAbsolute(path) ? path : context.folder.path + "/" + path
    let file = try await SourceFile.open(full, for: book)
    let size = file.facts.size
    opened = file
    if let old = book.progress.source, !old.isSameContent(as: file.facts), book.progress.completedAt == nil {
      book.warn("the source changed since the last attempt: the upload starts anew")
      await abandonSession()
      forgetChunks(.contentChanged)
    }
    source = UploadSource(
      size: size, contentType: settings.contentType ?? ContentTypes.of(path),
      chunkSize: try chunkSize(of: size),
      fingerprint: file.facts.fingerprint, contentName: try contentName(of: file),
      mustBeNew: settings.ifExists != .replace && book.progress.completedAt == nil)
    digests = digests(of: file)
    try checkSize()
    book.note(.sized(size))
    live.setSize(size)
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

  /// The fingerprint over the transfer's id and the content, where the protocol opens its sessions with it.
  func contentName(of file: SourceFile) throws -> String? {
    traits.abilities.namesContent ? try file.fingerprint(prefix: book.id) : nil
  }

  /// Throws when the source is no longer what it was when the upload began.
  func checkSource() throws { try opened?.check() }

  /// - Throws: `Failure` where no chunk would ever come through.
  private func chunkSize(of size: Int64) throws -> Int64 {
    let choice = ChunkSizeChoice(
      size: size, settings: settings, abilities: traits.abilities(of: size),
      afterDamage: book.progress.chunkSize,
      begun: book.progress.session?.chunkSize ?? (book.hasChunks ? book.progress.automaticChunk : nil),
      rate: context.rate(for: book.transfer), limit: context.chunkLimits[sink.origin])
    return try choice.bytes(book.transfer.destination) { book.warn($0, hint: $1) }
  }

  /// Digests to compute of the source: SHA-256 always, what the manifest expects, what the server tells.
  func digests(of file: SourceFile) -> SourceDigests {
    let size = file.facts.size
    return SourceDigests(
      of: file.file, size: size,
      wanted: Set(expect.digests.keys).union(traits.abilities(of: size).fileDigests).union([.sha256]),
      pool: context.pool)
  }

  func wholeDigests(also more: some Sequence<DigestAlgorithm> = [DigestAlgorithm]()) async throws
    -> [DigestAlgorithm: String]
  {
    guard let digests else { throw Failure(.internal, "the source is not open") }
    return try await digests.whole(also: more)
  }

  func forgetChunks(_ reason: RestartReason) {
    held = HeldChunks()
    proved = [:]
    resumedAt = nil
    book.restart(reason)
    live.setDone(0)
  }

  func noteProgress() {
    guard !held.isEmpty else { return }
    book.note(.held(contiguous: held.contiguous, chunks: completeChunks))
  }

  /// Chunks that the server holds whole.
  var completeChunks: Int {
    let layout = ChunkLayout(
      size: source.size, chunkSize: book.progress.session?.chunkSize ?? max(1, source.size))
    return held.wholeChunks(layout, order: book.progress.session == nil ? .any : abilities.order)
  }
}
