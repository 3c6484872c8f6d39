import Foundation
import JobLedger
import JobModel
import Reporting
import TransferEngine

/// One attempt of a run: executed, synced, reported.
struct RunSession {
  let opened: JobOpening
  let state: StateFolder
  let options: RunOptions
  let common: CommonOptions
  let reports: ReportSink
  let scope: Scope?
  /// Seconds.
  let deadline: Double?

  private var job: Job { opened.job }
  private var ledger: JobLedger { opened.ledger }

  func run() async throws {
    let now = Date().timeIntervalSince1970
    DiagnosticText.print(opened.diagnostics)
    try precheck(opened.compiled)
    let run =
      if let continued = opened.continued { try ledger.startAttempt(run: continued.number, at: now) } else {
        try ledger.startRun(id: opened.runID, overrides: opened.overrides, at: now)
      }
    try ledger.reopenUnsynced(boot: BootID.current)
    let failed = Latch<String>()
    let stopper = Stopper()
    let writer = LedgerWriter(ledger) { error in
      failed.set("\(error)")
      stopper.stop(.ledger("\(error)"))
    }
    let events = try EventSink(options.events, run: run)
    for diagnostic in opened.diagnostics { writer.submit(.diagnostic(run: run.number, diagnostic)) }
    events.began(job: job, run: run, sha256: try ledger.meta("manifest_sha256"), opened)
    let board = LiveBoard()
    let signals = Signals { stopper.stop(.interrupted) }
    defer { withExtendedLifetime(signals) {} }
    let cause: StopCause?
    do { cause = try await execute(run, writer, board, stopper, events) } catch {
      try? writer.close()
      if let message = failed.value { throw End(.cannotCreate, message) }
      throw error
    }
    writer.submit(.events(run: run.number, count: events.lastSeq + 1))
    try? writer.close()
    if let message = failed.value { throw End(.cannotCreate, message) }
    try finish(run, ended: cause, board: board, events: events)
  }

  /// Sources that are not there are named together, before a byte moves.
  private func precheck(_ compiled: PlanCompiler.Compiled) throws {
    guard compiled.missingCount > 0 else { return }
    let more = compiled.missingCount - compiled.missing.count
    let named = compiled.missing.joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
    let noun = compiled.missingCount == 1 ? "source is" : "sources are"
    let message = "\(compiled.missingCount) local \(noun) missing: \(named)"
    if options.precheck == .strict {
      try reports.writeEnd(
        job: job, file: opened.file, outcome: .failed, status: .noInput,
        diagnostics: [Diagnostic(.error, message)])
      throw End(.noInput, message, hint: "put them back, or run without `--precheck strict` for the rest")
    }
    Terminal.talk("haul: warning: \(message)\n")
  }

  private func execute(
    _ run: RunRecord, _ writer: LedgerWriter, _ board: LiveBoard, _ stopper: Stopper, _ events: EventSink
  ) async throws -> StopCause? {
    let ticker = ProgressTicker(ledger: ledger, board: board, isEnabled: !common.noProgress, events: events)
    let log = RunLog(common) { ticker.note($0) }
    let setUp = try EngineSetUp(
      job: job, stateFolder: state.folder(job.name), ledger: ledger, writer: writer, run: run.number,
      board: board,
      checksEverything: options.resumeCheck == .full, waits: !options.noWait,
      events: { event in
        events.write(.engine(event))
        log.tell(event)
      })
    defer { setUp.shutDown() }
    let engine = TransferEngine(setUp.context, scope: scope, failFast: options.failFast)
    stopper.attach { cause in Task { await engine.stop(cause) } }
    let sync = SyncPass(ledger: ledger, writer: writer, folder: setUp.context.folder)
    let (deadline, ledger) = (deadline, ledger)
    let helpers = [
      Task { try await Self.every(.milliseconds(100)) { ticker.tick() } },
      // Completions reach the disk while others still move.
      Task { try await Self.every(.seconds(5)) { _ = try? await sync.run() } },
      Task { try await Self.every(.milliseconds(250)) { await Self.obey(ledger, engine) } },
      Task { try await Self.every(.milliseconds(500)) { try? await engine.look() } },
      Task {
        guard let deadline else { return }
        try await Task.sleep(for: .seconds(deadline))
        stopper.stop(.deadline)
      },
    ]
    let result: Result<Void, any Error>
    do { result = .success(try await engine.run()) } catch { result = .failure(error) }
    for helper in helpers { helper.cancel() }
    for helper in helpers { _ = await helper.result }
    ticker.end()
    try result.get()
    // An interrupted run ends soon; what is not synced then is verified again if another boot finds it.
    if stopper.cause == nil { _ = try await sync.run() }
    return await engine.stopped
  }

  /// Applies what other terminals ask.
  private static func obey(_ ledger: JobLedger, _ engine: TransferEngine) async {
    guard let wishes = try? ledger.pendingControls() else { return }
    for (number, control) in wishes {
      guard let changed = try? await engine.apply(control) else { continue }
      try? ledger.settleControl(number, changed: changed, at: Date().timeIntervalSince1970)
    }
  }

  private static func every(_ interval: Duration, _ body: @Sendable () async -> Void) async throws {
    while true {
      await body()
      try await Task.sleep(for: interval)
    }
  }

  private func finish(_ run: RunRecord, ended cause: StopCause?, board: LiveBoard, events: EventSink) throws {
    let counts = try ledger.counts()
    let (outcome, status) = counts.outcome(endedByFailFast: cause == .failFast)
    try ledger.endAttempt(
      run: run.number, outcome: outcome, exitCode: status.rawValue, bytesTransferred: Int64(board.moved),
      scope: options.only, at: Date().timeIntervalSince1970)
    let stored = state.folder(job.name) + "/reports/\(run.id).json"
    events.write(.runEnded(outcome, exitCode: status.rawValue, report: options.report ?? stored))
    events.flush()
    try reports.write(job: job.name, ledger: ledger, run: run.number, storedAt: stored)
    state.prune(job.name)
    Terminal.talk(try ReportSink.text(job.name, ledger, run.number, isColoured: Terminal.hasColour))
    try ledger.checkpoint()
    if let message = events.failure { throw End(.cannotCreate, message) }
    if status != .success { throw End(status) }
  }
}
