import Endpoints
import Glibc
import JobLedger
import JobModel
import LocalFiles
import Maintenance
import Posix
import Reporting
import Scheduler
import Transfers

/// One attempt of a run: executed, synced, reported.
struct RunSession {
  let opened: JobOpening
  let state: StateFolder
  let settings: RunSettings
  let context: CommandContext
  let reports: ReportSink
  /// Seconds that the opening took.
  let opening: Double
  /// Set with the run's number and attempt once they are on record, and once their end is.
  let begun: OnceValue<RunRecord>
  let ended: OnceValue<Void>

  private var job: Job { opened.job }
  private var ledger: JobLedger { opened.ledger }
  private var scope: Selection? { settings.selection }

  func run(_ stopper: StopController) async throws {
    context.console.print(opened.diagnostics)
    try settings.checkApart(fromFilesOf: ledger)
    try await stopper.race { [job, state, context, opened] in
      try await RecordedControls(opened.ledger, state, context).settle(job, through: opened.lastControl)
    }
    let selected = try select()
    try reports.refuse(
      SecretCheck(job, context.secrets).forTransfers(
        ledger, selected: selected?.rows, isNewRun: opened.continued == nil),
      job: job,
      file: opened.file)
    let remarks = try await stopper.race { try precheck() }
    context.console.print(remarks)
    let notices = RunNotices(
      job, run: opened.runID, startedAt: opened.startedAt, report: reports.shown ?? stored)
    let counts = try ledger.counts()
    let starting = { (run: Int, attempt: Int) in notices.owed(run: run, attempt: attempt, counts: counts) }
    let run =
      if let continued = opened.continued {
        try ledger.startAttempt(
          run: continued.number, selecting: selected, at: SystemClock.now, owing: starting)
      } else {
        try ledger.startRun(
          id: opened.runID, overrides: opened.overrides, selecting: selected, at: opened.startedAt,
          owing: starting)
      }
    begun.set(run)
    reports.noteFiles()
    // Runs do not wait for who is told of them.
    let first =
      try ledger.owesNotices
      ? Task { [context, ledger] in _ = await NoticeDelivery(context).deliver(from: ledger) } : nil
    var events: EventSink?
    do {
      let sink = try EventSink(settings.events, output: context.console.output, run: run)
      events = sink
      try await attempt(run, selected?.rows, remarks, notices, first, events: sink, stopper)
    } catch {
      // Whoever follows the events waits for the last one, whatever became of the state.
      if ended.value == nil, let status = (Self.end(error) as? End)?.status {
        events?.write(.runEnded(.early(status), exitCode: status.rawValue, report: asked))
        events?.flush()
      }
      // An end is told after its start.
      await wait(for: first, stopper)
      throw error
    }
  }

  /// An attempt that is on record.
  ///
  /// - Parameter first: sends what was owed when it began.
  private func attempt(
    _ run: RunRecord, _ selected: RowSet?, _ remarks: [Diagnostic], _ notices: RunNotices,
    _ first: Task<Void, Never>?, events: EventSink, _ stopper: StopController
  ) async throws {
    try ledger.reopenUnsynced(boot: BootID.current)
    // What the attempt before said of the disk is for this one to say.
    try ledger.retract(hint: Self.unsyncedHint, run: run.number)
    if settings.resumeCheck == .full { try ledger.reopenCompleted() }
    let failed = OnceValue<String>()
    let writer = LedgerWriter(ledger) { error in
      failed.set("\(error)")
      stopper.stop(.ledger("\(error)"))
    }
    events.follow(writer)
    for diagnostic in opened.diagnostics + remarks { writer.submit(.diagnostic(run: run.number, diagnostic)) }
    try events.began(job: job, run: run, sha256: try ledger.meta("manifest_sha256"), opened)
    if events.isOn {
      try ledger.tellLeftOut(isSelective: selected != nil) {
        events.write(.engine(.state(id: $0.id, from: $0.from, to: $0.to, failure: nil)))
      }
    }
    let board = ProgressRegistry()
    let pauses = pauseLog(run)
    let cause: StopCause?
    do { cause = try await execute(run, selected, writer, board, pauses, stopper, events) } catch {
      try? writer.close()
      if let message = failed.value { throw End(.cannotCreate, message) }
      throw error
    }
    if events.isOn {
      events.flush()
      // `run_ended` follows.
      writer.submit(.events(run: run.number, count: events.writtenSeq + 1))
    }
    try? writer.close()
    // What was left behind still runs, and is not counted on.
    if stopper.cause != nil { try ledger.settleInterrupted() }
    if let message = failed.value { throw End(.cannotCreate, message) }
    try await finish(run, ended: cause, board: board, pauses: pauses, events: events, notices, first, stopper)
  }

  /// The run's pauses so far: with the attempt, all end that outlasted the one before.
  private func pauseLog(_ run: RunRecord) -> PauseLog {
    var pauses = RunPauses(run.pauses)
    let now = run.attempts.last?.startedAt ?? SystemClock.now
    if let before = run.attempts.dropLast().last, before.exitCode == nil, let ended = before.endedAt {
      // It was killed, and could not say so.
      pauses.add(RunPause(.interrupted, of: nil, from: ended))
    }
    pauses.end(at: now)
    return PauseLog(pauses)
  }

  /// What an error means for the command.
  static func end(_ error: any Error) -> any Error {
    switch error {
    case let error as LedgerError: End(error)
    case let failure as Failure:
      End(.failed, "\(failure.code.rawValue): \(failure.message)", hint: failure.code.hint)
    default: error
    }
  }

  /// The report that was asked for.
  private var asked: String? { settings.reports.first { $0.form != .prometheus }?.path }
  private var stored: String { state.folder(job.name) + "/reports/\(opened.runID).json" }

  /// What the run is asked for alone. A typing error is no run of nothing.
  private func select() throws -> SelectedRows? {
    guard let scope else { return nil }
    let continued = opened.continued.flatMap { $0.selection == scope ? $0.number : nil }
    do {
      return try ledger.rows(of: scope, continuing: continued, isPart: state.shard != nil) {
        try settings.ids?.each($0)
      }
    } catch let unknown as UnknownIDs {
      let message =
        switch scope {
        case .ids:
          "`--only-from`: \(unknown.count) of its ids \(unknown.count == 1 ? "is" : "are") no transfer of the job `\(job.name)`: "
            + Self.named(unknown.first, of: unknown.count)
        case .only, .failed:
          "`--only \(unknown.first.first ?? "")` matches no transfer of the job `\(job.name)`"
        }
      try reports.writeEnd(
        job: job, file: opened.file, outcome: .failed, status: .noInput,
        diagnostics: [Diagnostic(.error, message)])
      throw End(
        .noInput, message, hint: "`haul plan` lists the ids; a glob's `*` stops at a `/`, `**` does not")
    }
  }

  /// Sources that are not there, or not what was begun with, are named together, before a byte moves.
  private func precheck() throws -> [Diagnostic] {
    let compiled = opened.compiled
    var messages: [String] = []
    if compiled.missingCount > 0 {
      let noun = compiled.missingCount == 1 ? "source is" : "sources are"
      messages.append(
        "\(compiled.missingCount) local \(noun) missing: \(Self.named(compiled.missing, of: compiled.missingCount))"
      )
    }
    let changed = try ChangedSources.ids(
      ledger, folder: try Folder.open(job.directory),
      copies: SnapshotFolder(state.folder(job.name), job: job.name))
    if !changed.isEmpty {
      let noun = changed.count == 1 ? "source has" : "sources have"
      let names = Self.named(Array(changed.prefix(PlanCompiler.missingLimit)), of: changed.count)
      messages.append("\(changed.count) local \(noun) changed since the upload began: \(names)")
    }
    guard settings.precheck == .strict, !messages.isEmpty else {
      return messages.map { Diagnostic(.warning, $0) }
    }
    try reports.writeEnd(
      job: job, file: opened.file, outcome: .failed, status: .noInput,
      diagnostics: messages.map { Diagnostic(.error, $0) })
    throw End(
      .noInput, messages.joined(separator: "; "),
      hint: "put them back, or run without `--precheck strict` for the rest; changed ones then start anew")
  }

  private static func named(_ ids: [String], of count: Int) -> String {
    ids.joined(separator: ", ") + (count > ids.count ? " and \(count - ids.count) more" : "")
  }

  private func execute(
    _ run: RunRecord, _ selected: RowSet?, _ writer: LedgerWriter, _ board: ProgressRegistry,
    _ pauses: PauseLog, _ stopper: StopController, _ events: EventSink
  ) async throws -> StopCause? {
    let ticker = ProgressTicker(
      ledger: ledger, board: board, isEnabled: settings.showsProgress && !settings.log.isQuiet,
      events: events, context)
    let log = RunLog(settings.log) { ticker.note($0) }
    let setUp = try EngineSetUp(
      job: job, context, stateFolder: state.folder(job.name), root: state, ledger: ledger, writer: writer,
      run: run.number, board: board,
      checksEverything: settings.resumeCheck == .full, waits: settings.waits,
      isFollowed: events.isOn || [.debug, .info].contains(settings.log.level),
      events: { event in
        events.write(.engine(event))
        pauses.record(event)
        ticker.record(event)
        log.record(event)
      })
    var isLeftBehind = false
    defer { if !isLeftBehind { setUp.shutDown() } }
    let values = RunValues(id: run.id, startedAt: run.startedAt)
    let rows = RowSources(job, values, ledger)
    let engine = TransferEngine(
      setUp.transfers, maintenance: setUp.maintenance, network: setUp.network, selected: selected,
      failFast: settings.failFast, waits: settings.waits, limit: try ledger.limit(), opening: opening,
      renewRows: rows.map { rows in { @Sendable () async -> Void in await rows.renew() } })
    stopper.attach { cause in Task { await engine.stop(cause) } }
    let (sync, recorded) = (SyncPass(setUp.maintenance), setUp.transfers.run)
    let deadline = settings.deadline
    let timer = Task {
      guard let deadline else { return }
      try await Task.sleep(for: .seconds(deadline))
      stopper.stop(.deadline)
    }
    defer { timer.cancel() }
    let tasks = RunTasks(run: run.number, recorded, engine, sync, board, pauses, ticker, log, events)
    let result: Result<StopCause?, any Error>
    do {
      // What hangs (a dead mount, a program that hears no signal) is left behind: all that counts is on record.
      result = .success(
        try await stopper.race(patience: .seconds(3)) {
          try await engine.run()
          // One pass at a time: of two that open a file, only one is told that the disk refused it.
          await tasks.endSyncing()
          try await Self.syncTheRest(sync, until: stopper, recorded)
          return await engine.stopped
        })
    } catch let left as StopController.Stopped {
      isLeftBehind = true
      result = .success(left.cause)
    } catch { result = .failure(error) }
    tasks.cancel()
    if !isLeftBehind { await tasks.end() }
    log.tick(now: 0, isLast: true)
    recorded.warnings.flush()
    ticker.end()
    return try result.get()
  }

  /// Nothing is called done that is not on the disk. A signal or the deadline ends the wait: what is not synced then
  /// is by the next run, or verified again if another boot finds it.
  private static func syncTheRest(_ sync: SyncPass, until stopper: StopController, _ run: RunContext)
    async throws
  {
    let rest = Task { try await sync.run() }
    stopper.attach { _ in rest.cancel() }
    do { try await rest.value } catch  where error is CancellationError || error is PassingFault {
      let counts = try run.ledger.counts()
      guard counts.queued + counts.paused == 0 else { return }
      let left = try run.ledger.unsyncedCount(boot: run.bootID)
      guard left > 0 else { return }
      run.remark(
        Diagnostic(
          .warning,
          "\(left) finished \(left == 1 ? "download is" : "downloads are") not known to be on the disk yet"
            + ((error as? PassingFault).map { " (\($0))" } ?? ""),
          hint: unsyncedHint))
    }
  }

  private static let unsyncedHint = "the next `haul run` brings them there first"

  private func wait(for first: Task<Void, Never>?, _ stopper: StopController) async {
    guard let first else { return }
    await NoticeDelivery.bounded(by: stopper) {
      await withTaskCancellationHandler {
        await first.value
      } onCancel: {
        first.cancel()
      }
    }
  }

  /// - Parameter first: sends what was owed when the attempt began.
  private func finish(
    _ run: RunRecord, ended cause: StopCause?, board: ProgressRegistry, pauses: PauseLog, events: EventSink,
    _ notices: RunNotices, _ first: Task<Void, Never>?, _ stopper: StopController
  ) async throws {
    let unsynced = try ledger.unsyncedCount(boot: BootID.current)
    /// The attempt is judged by what it was to do, the run by all that is its own.
    var (judged, whole) = (
      try ledger.counts(isSelective: scope != nil), try ledger.counts(isSelective: run.selection != nil)
    )
    (judged.unsynced, whole.unsynced) = (unsynced, unsynced)
    var (outcome, status) = judged.outcome(endedByFailFast: cause == .failFast)
    // What could not be listed had no turn.
    if status == .success, !opened.compiled.unlisted.isEmpty {
      let mayPass = opened.compiled.unlisted.values.allSatisfy(\.code.isRetryable)
      (outcome, status) = mayPass ? (.incomplete, .incomplete) : (.failed, .noInput)
    }
    // Nobody is told of a success whose report or events can't be written.
    events.flush()
    let isWritable = events.failure?.isGivenUp ?? true && (try? settings.checkWritable()) != nil
    let isOver = whole.isOver(endedByFailFast: cause == .failFast)
    let stops =
      try cause.map { [RunPause.Reason($0.pause)] }
      ?? (isOver ? [] : ledger.standing().pausedReasons.keys.compactMap(RunPause.Reason.init(rawValue:)))
    try ledger.endAttempt(
      run: run.number, outcome: outcome, exitCode: status.rawValue, isOver: isOver,
      bytesTransferred: Int64(board.moved), scope: scope,
      owing: notices.owed(
        run: run.number, attempt: run.attempts.last?.number ?? 1,
        .init(outcome: outcome, status: isWritable ? status : .cannotCreate),
        counts: judged, sums: notices.isEmpty ? nil : ledger.sums()),
      pauses: pauses.end(stops, isOver: isOver), at: SystemClock.now)
    ended.set(())
    events.write(
      .runEnded(
        outcome, exitCode: status.rawValue, report: asked ?? stored))
    events.flush()
    try await report(run, status, events, first, stopper)
  }

  /// Writes the report of an attempt that has ended, sends the notices of it, and ends the command as the attempt did.
  private func report(
    _ run: RunRecord, _ status: ExitStatus, _ events: EventSink, _ first: Task<Void, Never>?,
    _ stopper: StopController
  ) async throws {
    var unwritten: End?
    let owes = try ledger.owesNotices || first != nil
    func write(_ extent: ReportSink.Extent) throws {
      do {
        try reports.write(
          job: job.name, ledger: ledger, run: run.number, storedAt: stored, extent)
      } catch let end as End { unwritten = end }
    }
    var unkept: [End] { [unwritten, events.failure.map { End($0) }].compactMap(\.self) }
    // What was given up for a signal's sake says less than how the run ended.
    let isEnd = { (end: End) in end.status != .incomplete || status == .success }
    // Notices lead to the report, which then says what came of them.
    try write(owes ? .files : .all)
    state.prune(job.name)
    let lost = (unkept + [context.console.unwritten].compactMap(\.self)).first(where: isEnd)
    try reports.sumUp(job.name, ledger, run.number, lost?.status ?? status)
    if owes {
      await wait(for: first, stopper)
      await NoticeDelivery.bounded(by: stopper) { [context, ledger] in
        _ = await NoticeDelivery(context).deliver(from: ledger)
      }
      try write(.all)
    }
    // All is on record in the log: where the disk has no room for more, the run ends as its report says.
    try? ledger.checkpoint()
    for end in unkept {
      guard !isEnd(end) else { throw end }
      context.console.print(end)
    }
    if status != .success { throw End(status) }
  }
}
