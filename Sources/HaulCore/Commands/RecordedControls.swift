import Endpoints
import JobLedger
import JobModel
import Maintenance
import Posix
import Transfers

/// Requests that are on record while no run is under way: whoever holds the job's lock settles them before all else, so
/// that none reaches another run than it was meant for.
struct RecordedControls: Sendable {
  private let ledger: JobLedger
  private let state: StateFolder
  private let context: CommandContext

  init(_ ledger: JobLedger, _ state: StateFolder, _ context: CommandContext) {
    (self.ledger, self.state, self.context) = (ledger, state, context)
  }

  /// Seconds after which whoever made a request, and has not withdrawn it, was killed.
  private static let validity = 2 * ControlOutcome.patienceAround

  /// Applies them, oldest first. What nobody waits for any more, and nobody has begun to apply, is withdrawn.
  ///
  /// - Parameter last: the number of the newest one that counts.
  func settle(_ job: Job, through last: Int64 = .max) async throws {
    let now = SystemClock.now
    try ledger.withdrawControls(requestedBefore: now - Self.validity, at: now)
    let pending = try ledger.pendingControls(through: last)
    guard !pending.isEmpty else { return }
    let writer = LedgerWriter(ledger) { _ in }
    let setUp = try EngineSetUp(
      job: job, context, stateFolder: state.folder(job.name), root: state, ledger: ledger, writer: writer,
      run: try ledger.lastRun()?.number ?? 0, board: ProgressRegistry(), events: context.console.print)
    defer { setUp.close() }
    for (number, control) in pending {
      // It may have been withdrawn meanwhile.
      guard try ledger.beginControl(number) else { continue }
      let changed = try await ControlApplier.applyAtRest(control, context: setUp.maintenance)
      try ledger.settleControl(number, changed: changed, at: SystemClock.now)
    }
    try await writer.barrier()
  }
}
