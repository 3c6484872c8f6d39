import HTTPClient
import JobLedger
import JobModel
import Locks
import Transfers

/// A budget in a run: what is spent of it in its current period, kept in the ledger across runs.
///
/// Belongs to the engine; bytes are counted where they move.
final class LedgerBudget: Sendable {
  let spending: Spending
  private let period: Budget.Period
  private let zone: CivilZone
  private let name: String
  private let ledger: JobLedger
  private let writer: LedgerWriter
  private let clock: EngineClock
  /// When bytes are recorded of which nothing else is yet: those of a chunk that is being sent.
  private let pace: Locked<RecordPace>

  /// - Parameters:
  ///   - name: what the ledger knows it by.
  ///   - onSpent: called, on the network thread, when it is used up.
  init(
    _ budget: Budget, name: String, zone: CivilZone, context: TransferContext,
    onSpent: @escaping @Sendable () -> Void
  ) throws {
    (period, self.zone, self.name) = (budget.period, zone, name)
    (ledger, writer, clock) = (context.run.ledger, context.run.writer, context.client.clock)
    let now = clock.now()
    pace = Locked(RecordPace(began: now, last: now))
    let current = BudgetPeriod(period, at: now, zone: zone)
    let before = try ledger.spent(policy: name, period: current.name)
    spending = Spending(budget, period: current, spent: before, onSpent: onSpent)
    // No chunk is on record without its price, whenever the run is killed.
    writer.alongside { [spending] in
      spending.takeUnsaved().map { LedgerChange.spent(policy: name, period: $0.period, bytes: $0.bytes) }
    }
  }

  /// Counts body bytes that crossed the network, and records them where it is time.
  func count(_ bytes: Int) {
    spending.count(bytes)
    let now = clock.now()
    if pace.withLock({ $0.isDue(at: now) }) { save() }
  }

  /// Records what was spent, and begins the next period when its time has come.
  func look(now: Double) {
    save()
    let current = BudgetPeriod(period, at: now, zone: zone)
    guard current.name != spending.period else { return }
    // A clock that was set back leads into a period that has bytes on record.
    spending.begin(current, spent: (try? ledger.spent(policy: name, period: current.name)) ?? 0)
  }

  /// Records what was spent since the last call.
  func save() {
    guard let (period, bytes) = spending.takeUnsaved() else { return }
    writer.submit(.spent(policy: name, period: period, bytes: bytes))
  }
}
