import Digests
import Endpoints
import JobLedger
import JobModel
import LocalFiles

/// One download, from wherever its record stands to the verified file at its destination.
actor Download {
  nonisolated private let executor: any SerialExecutor
  nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

  let book: TransferRecord
  let context: EngineContext
  let requester: Requester
  let source: any RemoteSource
  let live: LiveTransfer
  private var destination: DestinationFile?
  var staged = StagedFile()
  var object = RemoteObject()
  var map = RangeMap()
  var isSingleStream = false
  /// One connection brings bytes as fast as they can be taken.
  var isSaturated = false
  var hasDoubtedSize = false
  /// After a mismatch the server has been asked for digests of ranges.
  var hasAskedForRanges = false
  /// It gives them: each answer is proved by its own.
  var provesRanges = false
  /// Whether its last range came with a digest of its own; nil where none came, or other digests prove the file.
  var givesRangeDigests: Bool?
  /// Bytes received of a body of unknown length since the space left was looked at.
  var sinceSpaceCheck = 0
  /// This transfer's own file at the destination, which it may replace whatever `if_exists` says.
  var own: FileFacts?
  /// Of the host, as it was when the work began.
  let rate: Double?

  init(
    _ transfer: LedgerTransfer, source: any RemoteSource, requester: Requester, context: EngineContext,
    live: LiveTransfer, stop: StopFlag = StopFlag()
  ) {
    executor = context.transport.executor
    book = TransferRecord(transfer, context: context, stop: stop)
    self.source = source
    self.requester = requester
    self.context = context
    self.live = live
    rate = context.rate(for: transfer)
  }

  var settings: TransferSettings { book.transfer.settings }
  var expect: Expectation { book.transfer.expect }

  /// Moves and verifies the bytes; `release` is called when the network is done with.
  func run(release: @Sendable () -> Void) async {
    book.begin()
    var end: TransferEnd
    do {
      if let settled = try await settleWithoutMoving() {
        end = settled
      } else {
        book.noteMove()
        try await fetchAndVerify()
        release()
        end = try await promote()
      }
    } catch  where error is CancellationError || error is LedgerError {
      // What the state can't take ends the run, which says why, once.
      end = .stopped
    } catch {
      end = .failed(Failure(error))
    }
    book.count(requester.takeTally())
    if end.dropsProgress(book.stop.event) { dropPart() }
    if staged.held != nil { forgetHeld() }
    // Stopped before its verification: the next attempt begins there, if it knows of what object the bytes are.
    if let part = staged.part, let chunk = map.unrecorded {
      book.save()
      book.keep(chunk, in: part.record)
    }
    // A part file with nothing in it that could be used again only takes space from others.
    if staged.part != nil, map.have.total == 0 { dropPart() }
    noteProgress()
    book.end(end)
    destination?.release()
  }

  var finalState: TransferState { book.state }

  /// Removes the part file and forgets its chunks.
  func dropPart() {
    // An earlier attempt's part file goes too, where this one ended before it was opened.
    if staged.part == nil { destination?.removeLeftParts() }
    staged.discard()
    book.restart(.givenUp)
    map = RangeMap()
  }

  /// What was only in memory is gone.
  private func forgetHeld() {
    staged.dropHeld()
    map = RangeMap()
    // An earlier attempt's, whose file it took away.
    if book.progress.intendedInode != own?.inode { book.note(.intended(nil)) }
    book.restart(.partGone)
  }

  func noteProgress() {
    guard staged.part != nil || map.have.total > 0 else { return }
    let chunks =
      object.size.map { map.chunks(size: $0, chunkSize: chunkSize) } ?? book.progress.chunksCompleted
    book.note(.held(contiguous: map.have.contiguous, chunks: chunks))
    guard let size = object.size else { return }
    book.note(.sized(size))
    // A broken connection leaves several records of one chunk.
    book.note(.reusedAtMost(chunks: Int((book.progress.reused + chunkSize - 1) / chunkSize)))
  }

  /// Decides where the file goes, and ends the work where nothing has to be moved.
  private func settleWithoutMoving() async throws -> TransferEnd? {
    if let obstacle = settings.obstacle { throw obstacle.failure(book.transfer.source.text) }
    let isNamed = !book.transfer.takesSourceName || book.progress.resolvedDestination != nil
    // Where the name is the server's to say, everything else depends on it.
    let seen = isNamed ? RemoteObject() : try await source.probe()
    destination = try DestinationFile(of: book, source: source, serverName: isNamed ? nil : seen.fileName)
    try destination?.take()
    var settlement = Settlement(of: book, at: try requireDestination(), source: source, seen: seen)
    let end = try await settlement.end()
    own = settlement.own
    return end
  }

  func requireDestination() throws -> DestinationFile {
    guard let destination else { throw Failure(.internal, "the destination's folder is not open") }
    return destination
  }
}
