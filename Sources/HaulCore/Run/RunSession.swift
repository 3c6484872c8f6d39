import Endpoints
import Glibc
import JobLedger
import JobModel
import LocalFiles
import Posix
import Reporting
import TransferEngine

/// One attempt of a run: executed, synced, reported.
struct RunSession {
  let opened: JobOpening
  let state: StateFolder
  let settings: RunSettings
  let context: CommandContext
  let reports: ReportSink

  private var job: Job { opened.job }
  private var ledger: JobLedger { opened.ledger }
  private var scope: Selection? { settings.scope }

  func run(_ stopper: StopController) async throws {
    let now = SystemClock.now
    context.console.print(opened.diagnostics)
    try checkScope()
    try reports.refuse(
      SecretCheck(job, context.secrets).forTransfers(ledger, scope: scope, isNewRun: opened.continued == nil),
      job: job,
      file: opened.file)
    let remarks = try await stopper.race { try precheck() }
    context.console.print(remarks)
    let run =
      if let continued = opened.continued {
        try ledger.startAttempt(run: continued.number, selecting: scope, at: now)
      } else {
        try ledger.startRun(id: opened.runID, overrides: opened.overrides, selecting: scope, at: now)
      }
    try ledger.reopenUnsynced(boot: BootID.current)
    if settings.resumeCheck == .full { try ledger.reopenCompleted() }
    let failed = OnceValue<String>()
    let writer = LedgerWriter(ledger) { error in
      failed.set("\(error)")
      stopper.stop(.ledger("\(error)"))
    }
    let events = try EventSink(settings.events, output: context.console.output, run: run)
    for diagnostic in opened.diagnostics + remarks { writer.submit(.diagnostic(run: run.number, diagnostic)) }
    events.began(job: job, run: run, sha256: try ledger.meta("manifest_sha256"), opened)
    let board = ProgressRegistry()
    let cause: StopCause?
    do { cause = try await execute(run, writer, board, stopper, events) } catch {
      try? writer.close()
      if let message = failed.value { throw End(.cannotCreate, message) }
      throw error
    }
    writer.submit(.events(run: run.number, count: events.lastSeq + 1))
    try? writer.close()
    // What was left behind still runs, and is not counted on.
    if stopper.cause != nil { try ledger.settleInterrupted() }
    if let message = failed.value { throw End(.cannotCreate, message) }
    try finish(run, ended: cause, board: board, events: events)
  }

  /// A typing error in `--only` is no run of nothing.
  private func checkScope() throws {
    guard let only = settings.only, try !ledger.unknown([only]).isEmpty else { return }
    let message = "`--only \(only)` matches no transfer of the job `\(job.name)`"
    try reports.writeEnd(
      job: job, file: opened.file, outcome: .failed, status: .noInput,
      diagnostics: [Diagnostic(.error, message)])
    throw End(
      .noInput, message, hint: "`haul plan` lists the ids; a glob's `*` stops at a `/`, `**` does not")
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
    let changed = try ChangedSources.ids(ledger, folder: try Folder.open(job.directory))
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
    _ run: RunRecord, _ writer: LedgerWriter, _ board: ProgressRegistry, _ stopper: StopController,
    _ events: EventSink
  ) async throws -> StopCause? {
    let ticker = ProgressTicker(
      ledger: ledger, board: board, isEnabled: settings.showsProgress && !settings.log.isQuiet,
      events: events, context)
    let log = RunLog(settings.log) { ticker.note($0) }
    var setUp = try EngineSetUp(
      job: job, context, stateFolder: state.folder(job.name), ledger: ledger, writer: writer, run: run.number,
      board: board,
      checksEverything: settings.resumeCheck == .full, waits: settings.waits,
      events: { event in
        events.write(.engine(event))
        log.record(event)
      })
    var isLeftBehind = false
    defer { if !isLeftBehind { setUp.shutDown() } }
    let values = RunValues(id: run.id, date: Timestamp.date(run.startedAt))
    if let rows = RowSources(job, values, ledger) { setUp.context.renewRows = { await rows.renew() } }
    let engine = TransferEngine(
      setUp.context, scope: scope, failFast: settings.failFast, waits: settings.waits,
      limit: try ledger.limit())
    stopper.attach { cause in Task { await engine.stop(cause) } }
    let (sync, context) = (SyncPass(setUp.context), setUp.context)
    let (deadline, ledger) = (settings.deadline, ledger)
    let timer = Task {
      guard let deadline else { return }
      try await Task.sleep(for: .seconds(deadline))
      stopper.stop(.deadline)
    }
    defer { timer.cancel() }
    let helpers = [
      Task {
        try await Self.every(.milliseconds(100)) {
          ticker.tick()
          log.tick(now: SystemClock.uptime)
        }
      },
      // Completions reach the disk while others still move.
      Task {
        try await Self.every(.seconds(5)) {
          context.warnings.flush()
          try? await sync.run()
        }
      },
      Task { try await Self.every(.milliseconds(250)) { await Self.applyRequests(ledger, engine) } },
      // A kill leaves no more than a second's events without their number on record.
      Task {
        try await Self.every(.seconds(1)) {
          if events.isOn { writer.submit(.events(run: run.number, count: events.lastSeq)) }
        }
      },
    ]
    let result: Result<StopCause?, any Error>
    do {
      // What hangs (a dead mount, a program that hears no signal) is left behind: all that counts is on record.
      result = .success(
        try await stopper.race(patience: .seconds(3)) {
          try await engine.run()
          try await Self.syncTheRest(sync, until: stopper, context)
          return await engine.stopped
        })
    } catch let left as StopController.Stopped {
      isLeftBehind = true
      result = .success(left.cause)
    } catch { result = .failure(error) }
    for helper in helpers { helper.cancel() }
    if !isLeftBehind { for helper in helpers { _ = await helper.result } }
    log.tick(now: 0, isLast: true)
    context.warnings.flush()
    ticker.end()
    return try result.get()
  }

  /// Nothing is called done that is not on the disk. A signal or the deadline ends the wait: what is not synced then
  /// is by the next run, or verified again if another boot finds it.
  private static func syncTheRest(_ sync: SyncPass, until stopper: StopController, _ context: EngineContext)
    async throws
  {
    let rest = Task { try await sync.run() }
    stopper.attach { _ in rest.cancel() }
    do { try await rest.value } catch  where error is CancellationError || error is PassingFault {
      let counts = try context.ledger.counts()
      guard counts.queued + counts.paused == 0 else { return }
      let left = try context.ledger.unsyncedCount(boot: context.bootID)
      guard left > 0 else { return }
      context.remark(
        Diagnostic(
          .warning,
          "\(left) finished \(left == 1 ? "download is" : "downloads are") not known to be on the disk yet"
            + ((error as? PassingFault).map { " (\($0))" } ?? ""),
          hint: "the next `haul run` brings them there first"))
    }
  }

  /// Applies what other terminals ask.
  private static func applyRequests(_ ledger: JobLedger, _ engine: TransferEngine) async {
    guard let controls = try? ledger.pendingControls() else { return }
    for number in (try? ledger.pendingLimits()) ?? [] {
      guard let limit = try? ledger.limit() as Bandwidth?? else { continue }
      await engine.setLimit(limit)
      try? ledger.settleControl(number, changed: 0, at: SystemClock.now)
    }
    for (number, control) in controls {
      guard let changed = try? await engine.apply(control) else { continue }
      try? ledger.settleControl(number, changed: changed, at: SystemClock.now)
    }
  }

  private static func every(_ interval: Duration, _ body: @Sendable () async -> Void) async throws {
    while true {
      await body()
      try await Task.sleep(for: interval)
    }
  }

  private func finish(_ run: RunRecord, ended cause: StopCause?, board: ProgressRegistry, events: EventSink)
    throws
  {
    let unsynced = try ledger.unsyncedCount(boot: BootID.current)
    /// The attempt is judged by what it was to do, the run by all that is its own.
    var (judged, whole) = (
      try ledger.counts(of: scope), try ledger.counts(of: run.selection == nil ? nil : scope)
    )
    (judged.unsynced, whole.unsynced) = (unsynced, unsynced)
    let (outcome, status) = judged.outcome(endedByFailFast: cause == .failFast)
    try ledger.endAttempt(
      run: run.number, outcome: outcome, exitCode: status.rawValue,
      isOver: whole.isOver(endedByFailFast: cause == .failFast), bytesTransferred: Int64(board.moved),
      scope: settings.only, at: SystemClock.now)
    let stored = state.folder(job.name) + "/reports/\(run.id).json"
    events.write(.runEnded(outcome, exitCode: status.rawValue, report: settings.report ?? stored))
    events.flush()
    var unwritten: End?
    do { try reports.write(job: job.name, ledger: ledger, run: run.number, storedAt: stored) } catch let end
      as End
    { unwritten = end }
    state.prune(job.name)
    try reports.sumUp(job.name, ledger, run.number, status)
    try ledger.checkpoint()
    if let unwritten { throw unwritten }
    if let message = events.failure { throw End(.cannotCreate, message) }
    if status != .success { throw End(status) }
  }
}
