import Endpoints
import HTTPClient
import JobLedger
import JobModel

/// One transfer's state and progress while it is worked on, and the way both get into the ledger: nothing else changes
/// either.
///
/// Belongs to one transfer's actor.
final class TransferRecord {
  let transfer: LedgerTransfer
  let context: TransferContext
  private(set) var state: TransferState
  private(set) var progress: TransferProgress
  /// When this attempt began, seconds since 1970.
  let began: Double
  /// When what is under way is recorded.
  let pace: RecordPace
  /// There may be records of its chunks.
  private(set) var hasChunks: Bool
  /// Says what becomes of the transfer when it is stopped.
  let stop: StopFlag
  /// Seconds of work in this run before this attempt.
  private var before: Double
  /// What was recorded last in this attempt: its facts are not written again.
  private var recorded: TransferProgress?
  /// Why a recorded completion does not stand.
  var fallen: MovedBecause?

  init(_ transfer: LedgerTransfer, context: TransferContext, stop: StopFlag) {
    self.transfer = transfer
    self.stop = stop
    self.context = context
    state = transfer.state
    hasChunks = transfer.hasChunks
    progress = transfer.progress
    before = transfer.progress.duration
    began = context.client.clock.now()
    pace = RecordPace(began: began, last: began)
  }

  var id: String { transfer.id }
  var plannedPath: String? { transfer.plannedPath(progress) }

  /// It was completed by an earlier attempt of this run, and is only looked at once more.
  var isCompletedInThisRun: Bool { transfer.progress.completedAt != nil && transfer.progress.transferred > 0 }

  /// How it ends where what was recorded still stands.
  func standing(_ reason: TransferState.UpToDateReason? = nil) -> TransferEnd {
    note(.expected(transfer.expect))
    return isCompletedInThisRun ? .finished : .settled(reason)
  }

  /// Nothing but the last step is left of an earlier attempt: an earlier run's bytes are there already.
  func noteWhole() {
    if !isCompletedInThisRun, let size = progress.size { note(.reused(size)) }
  }

  /// What stands at the destination is complete, or intended, by a record that the disk may not bear out: another
  /// boot's, or of a file that was moved away before it was synced and may be back.
  var isUnverified: Bool {
    !progress.isSynced && progress.bootID != context.run.bootID
      && (progress.bootID != nil || progress.completedAt != nil)
  }

  /// From now on what stands at the destination is this boot's to bring to the disk.
  func noteBoot() { note(.written(boot: context.run.bootID)) }

  /// `always` means once a run.
  var refresh: RefreshRule {
    isCompletedInThisRun && transfer.settings.refresh == .always ? .changed : transfer.settings.refresh
  }

  /// Takes a transition, records it and tells of it.
  func take(_ event: TransferEvent) -> [TransferAction] {
    guard let next = StateMachine.next(state, event) else { return [] }
    let old = state
    state = next.state
    context.run.writer.submit(.state(seq: transfer.seq, state))
    let bytes = MovedBytes(
      transferred: progress.transferred, reused: progress.reused, discarded: progress.discarded)
    context.run.events(
      .state(
        id: id, from: old, to: state, failure: progress.failure, bytes: old == .running ? bytes : nil))
    return next.actions
  }

  func begin() {
    progress.attempts += 1
    progress.startedAt = progress.startedAt ?? began
    progress.failure = nil
    progress.failedAt = nil
    before = progress.duration
    _ = take(.start)
  }

  /// Notes why bytes are to be moved; the first reason in a run stays.
  func noteMove() {
    note(.unproved)
    guard progress.movedBecause == nil else { return }
    let wasBegun = transfer.progress.failedAt != nil || transfer.hasProgress
    progress.movedBecause = fallen ?? (wasBegun ? .retried : .new)
  }

  /// Bytes are to be moved: pauses the transfer where the budget for them is spent.
  ///
  /// - Throws: `CancellationError`.
  func requireBudget(_ requester: Requester) throws {
    guard requester.isSpent else { return }
    try Task.checkCancellation()
    stop.set(.hold(.budget))
    throw CancellationError()
  }

  /// A body that can't be gone on with is to be moved: pauses the transfer where too little is left of a budget for all of
  /// it, beside what is put aside for others.
  ///
  /// - Parameter goesOnAlone: where nothing is put aside for others, it goes on as far as the budget takes it.
  /// - Throws: `CancellationError`.
  func reserveBudget(_ requester: Requester, _ bytes: Int64, goesOnAlone: Bool = false) throws {
    guard !requester.reserve(bytes), !goesOnAlone || requester.isPromised else { return }
    try Task.checkCancellation()
    stop.set(.hold(.budget))
    throw CancellationError()
  }

  /// Takes in what happened; it is recorded with the next `save`.
  func note(_ event: ProgressEvent) { progress.apply(event) }

  func count(_ tally: Requester.Tally) {
    note(.requested(count: tally.requests, retries: tally.retries, status: tally.lastStatus))
  }

  /// What was moved so far is of no more use: forgets it, and the records of its chunks.
  func restart(_ reason: RestartReason) {
    note(.restarted(reason))
    dropChunkRecords()
  }

  /// Records the progress as it is; with each record of bytes, so that counts are as true after a kill. Of several in one
  /// commit group the last is written.
  func save() {
    stamp()(&progress)
    let isWhole = recorded.map { !progress.hasFacts(of: $0) } ?? true
    context.run.writer.submit(.progress(seq: transfer.seq, progress, isWhole: isWhole))
    recorded = progress
  }

  private func stamp() -> @Sendable (inout TransferProgress) -> Void {
    let (clock, before, began) = (context.client.clock, before, began)
    return { progress in
      let now = clock.now()
      progress.updatedAt = now
      progress.duration = before + max(0, now - began)
    }
  }

  /// Makes what records the progress with the inode of a file that is still to be made, on another thread; the time is
  /// of that moment, as the file's is not to be later.
  func intent() -> @Sendable (UInt64) -> LedgerChange {
    let (seq, known, stamp) = (transfer.seq, progress, stamp())
    return { inode in
      var progress = known
      progress.intendedInode = inode
      stamp(&progress)
      return .progress(seq: seq, progress)
    }
  }

  /// What `intent` made is on record.
  func noteRecorded() { recorded = progress }

  func check(_ verification: Verification) {
    note(.checked(verification))
    context.run.events(.checked(id: id, verification))
  }

  /// Records a chunk without telling of it.
  ///
  /// - Parameter part: the file that holds it, of a download; recorded with the first of its chunks.
  func keep(_ chunk: ChunkRecord, in part: PartRecord? = nil) {
    if let part, !hasChunks { context.run.writer.submit(.part(seq: transfer.seq, part)) }
    hasChunks = true
    context.run.writer.submit(.chunk(seq: transfer.seq, chunk))
  }

  /// Records the part file that holds recorded chunks where it is not on record yet as it is.
  func noteMoved(_ part: PartRecord) { context.run.writer.submit(.part(seq: transfer.seq, part)) }

  /// - Parameter completing: the whole chunk's bytes where it is whole now; nil where a broken connection brought
  ///   only a part of it.
  func record(_ chunk: ChunkRecord, in part: PartRecord? = nil, index: Int, completing: Int64?) {
    keep(chunk, in: part)
    guard let completing else { return }
    context.run.events(.chunk(id: id, index: index, bytes: completing, attempts: chunk.attempts))
  }

  func warn(_ message: String, hint: String? = nil) {
    var diagnostic = Diagnostic(.warning, message, hint: hint)
    diagnostic.subject = id
    context.run.remark(diagnostic)
  }

  /// Removes the records of chunks, where there are any.
  func dropChunkRecords() {
    guard hasChunks else { return }
    hasChunks = false
    context.run.writer.submit(.noChunks(seq: transfer.seq))
  }

  /// Records how the work ended.
  func end(_ end: TransferEnd) {
    let now = context.client.clock.now()
    progress.endedAt = now
    switch end {
    case .finished:
      // A file that was tied to its record was complete before.
      if progress.attach == nil || progress.completedAt == nil { note(.completed(at: now)) }
      save()
      _ = take(.finish)
    case .settled(let reason):
      progress.movedBecause = nil
      save()
      _ = take(.settle(reason))
    case .skipped(let reason):
      save()
      _ = take(.skip(reason))
    case .failed(let failure):
      progress.failure = failure
      progress.failedAt = now
      progress.lastHTTPStatus = failure.httpStatus ?? progress.lastHTTPStatus
      save()
      _ = take(.fail(failure.code))
    case .stopped:
      if stop.event == .retry(fromScratch: true) {
        // As where nobody works on it.
        restart(.asked)
        progress.movedBecause = .asked
      }
      save()
      _ = take(stop.event)
    }
  }
}
