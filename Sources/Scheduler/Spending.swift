import JobModel
import Locks

/// What a policy's `budget` has left in the current period; counted where bytes move, on the network thread.
final class Spending: Sendable {
  private struct State {
    var period: BudgetPeriod
    var spent: Int64
    var unsaved: Int64 = 0
    var hasTold = false
  }
  private let state: Locked<State>
  private let budget: Budget
  /// Called once a period, when the last byte is spent.
  private let onSpent: @Sendable () -> Void

  init(_ budget: Budget, period: BudgetPeriod, spent: Int64, onSpent: @escaping @Sendable () -> Void) {
    self.budget = budget
    self.onSpent = onSpent
    state = Locked(State(period: period, spent: spent, hasTold: spent >= budget.bytes))
  }

  func count(_ bytes: Int) {
    let isSpent = state.withLock { state in
      state.spent += Int64(bytes)
      state.unsaved += Int64(bytes)
      guard state.spent >= budget.bytes, !state.hasTold else { return false }
      state.hasTold = true
      return true
    }
    if isSpent { onSpent() }
  }

  /// When the period ends; nil while something is left.
  var spentUntil: Double? {
    state.withLock { $0.spent >= budget.bytes ? $0.period.end : nil }
  }

  /// The current period's name.
  var period: String { state.withLock { $0.period.name } }

  var end: Double { state.withLock { $0.period.end } }

  /// Takes what is not recorded yet.
  func takeUnsaved() -> (period: String, bytes: Int64)? {
    state.withLock { state in
      guard state.unsaved > 0 else { return nil }
      defer { state.unsaved = 0 }
      return (state.period.name, state.unsaved)
    }
  }

  /// Begins another period; what is unsaved must have been taken.
  ///
  /// - Parameter spent: what is spent of it already: the clock may have been set back.
  func begin(_ period: BudgetPeriod, spent: Int64) {
    state.withLock { state in
      guard state.period.name != period.name else { return }
      state = State(period: period, spent: spent, hasTold: spent >= budget.bytes)
    }
  }
}
