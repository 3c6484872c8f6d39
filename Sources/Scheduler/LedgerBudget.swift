import HTTPClient
import JobLedger
import JobModel
import Transfers

/// A budget in a run: what is spent of it in its current period, kept in the ledger across runs.
///
/// Belongs to the engine.
final class LedgerBudget {
  let spending: Spending
  private let period: Budget.Period
  private let zone: CivilZone
  private let name: String
  private let writer: LedgerWriter

  /// - Parameters:
  ///   - name: what the ledger knows it by.
  ///   - onSpent: called, on the network thread, when it is used up.
  init(
    _ budget: Budget, name: String, zone: CivilZone, context: TransferContext,
    onSpent: @escaping @Sendable () -> Void
  ) throws {
    (period, self.zone, self.name, writer) = (budget.period, zone, name, context.run.writer)
    let current = BudgetPeriod(period, at: context.client.clock.now(), zone: zone)
    let before = try context.run.ledger.spent(policy: name, period: current.name)
    spending = Spending(budget, period: current, spent: before, onSpent: onSpent)
  }

  /// Records what was spent, and begins the next period when its time has come.
  func look(now: Double) {
    save()
    spending.begin(BudgetPeriod(period, at: now, zone: zone))
  }

  /// Records what was spent since the last call.
  func save() {
    guard let (period, bytes) = spending.takeUnsaved() else { return }
    writer.submit(.spent(policy: name, period: period, bytes: bytes))
  }
}
