import Curl
import Foundation
import JobLedger
import JobManifest
import JobModel
import Reporting
import TransferEngine

/// One attempt of a run: compiled, executed, synced, reported.
struct RunSession {
  let job: Job
  let file: ManifestFile
  let state: StateFolder
  let ledger: JobLedger
  let options: RunOptions
  let common: CommonOptions
  let reports: ReportSink
  let warnings: [Diagnostic]
  /// Seconds.
  let deadline: Double?

  func run(continued: RunRecord?, overrides: [String: String]) async throws {
    let now = Date().timeIntervalSince1970
    let id = continued?.id ?? ULID.make(now: now)
    let compiled = try PlanCompiler.compile(
      job, run: RunValues(id: id, date: Timestamp.date(continued?.startedAt ?? now)), into: ledger)
    try WireNames(job.endpoints).save(ledger)
    DiagnosticText.print(warnings + compiled.diagnostics)
    try precheck(compiled)
    let run =
      if let continued { try ledger.startAttempt(run: continued.number, at: now) } else {
        try ledger.startRun(id: id, overrides: overrides, at: now)
      }
    let attempt = run.attempts.last?.number ?? 1
    let events = try openEvents(run, attempt)
    let failed = Latch<String>()
    let stopper = Stopper()
    let writer = LedgerWriter(ledger) { error in
      failed.set("\(error)")
      stopper.stop(.ledger("\(error)"))
    }
    for diagnostic in warnings + compiled.diagnostics {
      writer.submit(.diagnostic(run: run.number, diagnostic))
      events?.diagnostic(diagnostic)
    }
    events?.runStarted(job: job.name, number: run.number)
    events?.planCompiled(compiled.change, transfers: try ledger.counts().total)
    let board = LiveBoard()
    let signals = Signals { stopper.stop(.interrupted) }
    defer { withExtendedLifetime(signals) {} }
    let ended = try await execute(run, writer, board, stopper, events)
    try writer.close()
    if let error = failed.value { throw End(.cannotCreate, error) }
    try finish(run, ended: ended, board: board, events: events)
  }

  /// Sources that are not there are named together, before a byte moves.
  private func precheck(_ compiled: PlanCompiler.Compiled) throws {
    guard compiled.missingCount > 0 else { return }
    let more = compiled.missingCount - compiled.missing.count
    let named = compiled.missing.joined(separator: ", ") + (more > 0 ? " and \(more) more" : "")
    let message = "\(compiled.missingCount) local \(compiled.missingCount == 1 ? "source is" : "sources are") missing: \(named)"
    if options.precheck == .strict {
      throw End(.noInput, message, hint: "put them back, or run without `--precheck strict` for the rest")
    }
    Terminal.talk("haul: warning: \(message)\n")
  }

  private func execute(
    _ run: RunRecord, _ writer: LedgerWriter, _ board: LiveBoard, _ stopper: Stopper, _ events: EventLog?
  ) async throws -> StopCause? {
    let total = max(16, job.largestConnectionTotal)
    let network = try NetworkThread(
      limits: ConnectionLimits(total: total, perOrigin: max(8, job.largestConnectionsPerHost)))
    defer { network.shutdown() }
    let folder = try Folder.open(job.directory)
    let context = EngineContext(
      transport: CurlTransport(thread: network, userAgent: "haul/\(Haul.version)"), ledger: ledger, writer: writer,
      folder: folder, endpoints: job.endpoints, secrets: Secrets.source,
      pool: BlockingPool(label: "haul-pool", width: ProcessInfo.processInfo.activeProcessorCount), job: job.name,
      run: run.number, events: { events?.record($0) },
      clock: EngineClock(now: { Date().timeIntervalSince1970 }, random: { Double.random(in: 0..<1) }),
      bootID: BootID.current, checksEverything: options.resumeCheck == .full, board: board)
    let engine = TransferEngine(context, scope: options.only, failFast: options.failFast)
    stopper.attach { cause in Task { await engine.stop(cause) } }
    let view = ProgressLoop(job: job.name, ledger: ledger, board: board, isQuiet: common.noProgress, events: events)
    let sync = SyncPass(ledger: ledger, writer: writer, folder: folder)
    let background = Task {
      while !Task.isCancelled {
        try await Task.sleep(for: .seconds(5))
        _ = try await sync.run()
      }
    }
    let clock = deadline.map { seconds in
      Task {
        try await Task.sleep(for: .seconds(seconds))
        stopper.stop(.deadline)
      }
    }
    view.start()
    do { try await engine.run() } catch {
      view.end()
      background.cancel()
      throw error
    }
    view.end()
    clock?.cancel()
    background.cancel()
    _ = try? await background.value
    try await writer.barrier()
    // What was interrupted is asked to end soon; its completions are verified again by the next run if need be.
    if stopper.cause == nil { _ = try await sync.run() }
    return await engine.stopped
  }

  private func finish(_ run: RunRecord, ended cause: StopCause?, board: LiveBoard, events: EventLog?) throws {
    let counts = try ledger.counts()
    let (outcome, status) = counts.outcome(endedByFailFast: cause == .failFast)
    let now = Date().timeIntervalSince1970
    try ledger.endAttempt(
      run: run.number, outcome: outcome, exitCode: status.rawValue, bytesTransferred: Int64(board.moved),
      scope: options.only, at: now)
    let stored = state.folder(job.name) + "/reports/\(run.id).json"
    try reports.write(job: job.name, ledger: ledger, run: run.number, storedAt: stored)
    state.prune(job.name)
    events?.runEnded(outcome: outcome, exitCode: status.rawValue, report: options.report ?? stored)
    try events?.close()
    try ledger.checkpoint()
    if status != .success { throw End(status) }
  }

  private func openEvents(_ run: RunRecord, _ attempt: Int) throws -> EventLog? {
    guard let path = options.events else { return nil }
    do {
      return try EventLog.open(path: path, run: run.id, attempt: attempt)
    } catch {
      throw End(.cannotCreate, "the events file `\(path)` can't be written: \(error)")
    }
  }
}
