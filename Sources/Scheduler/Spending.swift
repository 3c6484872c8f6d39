import JobModel
import Locks

/// What a policy's `budget` has left in the current period; counted where bytes move, on the network thread.
final class Spending: Sendable {
  private struct State {
    var period: BudgetPeriod
    var spent: Int64
    /// Put aside for bodies that can't be gone on with, and not moved yet.
    var reserved: Int64 = 0
    var unsaved: Int64 = 0
    var hasTold = false
    /// Too little was left for somebody, and nothing was given back since.
    var isShort = false

    var taken: Int64 { spent + reserved }
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
      guard state.taken >= budget.bytes, !state.hasTold else { return false }
      state.hasTold = true
      return true
    }
    if isSpent { onSpent() }
  }

  /// Puts bytes aside; what nobody has put aside is left to the others.
  ///
  /// - Returns: false where fewer are left.
  func reserve(_ bytes: Int64) -> Bool {
    let (fits, isSpent) = state.withLock { state -> (Bool, Bool) in
      guard bytes <= budget.bytes - state.taken else {
        state.isShort = true
        return (false, false)
      }
      state.reserved += bytes
      guard state.taken >= budget.bytes, !state.hasTold else { return (true, false) }
      state.hasTold = true
      return (true, true)
    }
    if isSpent { onSpent() }
    return fits
  }

  /// Takes back what was put aside.
  ///
  /// - Parameter areMoved: they are counted as spent next; else others may have them.
  func release(_ bytes: Int64, areMoved: Bool) {
    state.withLock { state in
      state.reserved -= bytes
      guard !areMoved else { return }
      state.isShort = false
      state.hasTold = state.taken >= budget.bytes
    }
  }

  /// Bytes are put aside for somebody.
  var isPromised: Bool { state.withLock { $0.reserved > 0 } }

  /// Too little is left for somebody until the period ends, or something is given back.
  var isShort: Bool { state.withLock { $0.isShort } }

  /// When the period ends; nil while something is left that nobody has put aside.
  var spentUntil: Double? {
    state.withLock { $0.taken >= budget.bytes ? $0.period.end : nil }
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
      let reserved = state.reserved
      state = State(
        period: period, spent: spent, reserved: reserved, hasTold: spent + reserved >= budget.bytes)
    }
  }
}
