import JobLedger
import JobModel
import Maintenance
import Posix
import Scheduler
import Transfers

/// What goes on beside a run's engine: syncs, the live view, requests of other terminals, numbers that go on record.
struct RunTasks: Sendable {
  private let syncing: Task<Void, any Error>
  private let others: [Task<Void, any Error>]

  init(
    run number: Int, _ context: RunContext, _ engine: TransferEngine, _ sync: SyncPass,
    _ board: ProgressRegistry, _ pauses: PauseLog, _ ticker: ProgressTicker, _ log: RunLog,
    _ events: EventSink
  ) {
    let (ledger, writer) = (context.ledger, context.writer)
    // Completions reach the disk while others still move.
    syncing = Task {
      try await Self.every(.seconds(5)) {
        context.warnings.flush()
        try? await sync.run()
      }
    }
    let noted = LastValue(0)
    others = [
      Task {
        try await Self.every(.milliseconds(100)) {
          ticker.tick()
          log.tick(now: SystemClock.uptime)
        }
      },
      Task {
        pauses.note(userPauses: (try? ledger.counts().pausedByUser) ?? 0 > 0)
        try await Self.every(.milliseconds(250)) { await Self.applyRequests(ledger, engine, pauses) }
      },
      // A kill leaves no more than a second's events without their number on record.
      Task {
        try await Self.every(.seconds(1)) {
          if events.isOn { writer.submit(.events(run: number, count: events.writtenSeq)) }
          let moved = board.moved
          // Nor one without what it moved, where nothing else is on record before the end of a stream.
          if noted.replace(moved) {
            writer.submit(.moved(run: number, bytes: Int64(moved), at: SystemClock.now))
          }
          if let pauses = pauses.takeNews() { writer.submit(.pauses(run: number, pauses)) }
        }
      },
    ]
  }

  /// Ends the syncs, and waits for the one that is under way.
  func endSyncing() async {
    syncing.cancel()
    _ = await syncing.result
  }

  func cancel() {
    syncing.cancel()
    for other in others { other.cancel() }
  }

  /// Waits for the end of what was cancelled.
  func end() async {
    _ = await syncing.result
    for other in others { _ = await other.result }
  }

  /// Applies what other terminals ask.
  private static func applyRequests(
    _ ledger: JobLedger, _ engine: TransferEngine, _ pauses: PauseLog
  ) async {
    guard let controls = try? ledger.pendingControls() else { return }
    for number in (try? ledger.pendingLimits()) ?? [] {
      guard let limit = try? ledger.limit() as Bandwidth?? else { continue }
      await engine.setLimit(limit)
      try? ledger.settleControl(number, changed: 0, at: SystemClock.now)
    }
    for (number, control) in controls {
      // Who has waited too long for it has withdrawn it.
      guard (try? ledger.beginControl(number)) == true, let changed = try? await engine.apply(control)
      else { continue }
      pauses.note(userPauses: (try? ledger.counts().pausedByUser) ?? 0 > 0)
      try? ledger.settleControl(number, changed: changed, at: SystemClock.now)
    }
  }

  private static func every(_ interval: Duration, _ body: @Sendable () async -> Void) async throws {
    while true {
      await body()
      try await Task.sleep(for: interval)
    }
  }
}
