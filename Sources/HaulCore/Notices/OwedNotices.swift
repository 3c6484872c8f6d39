import JobLedger
import Posix

/// What commands other than `run` do about notices that a run left behind: they send them, once their own work is done.
package struct OwedNotices: Sendable {
  /// Seconds for all jobs together: whoever looks at a status does not wait for a receiver that is down.
  private let patience: Double

  private let state: StateFolder
  private let context: CommandContext

  package init(_ state: StateFolder, _ context: CommandContext, patience: Double = 5) {
    self.state = state
    self.context = context
    self.patience = patience
  }

  /// Sends what the jobs owe. A job that runs sends its own, and one whose state can't be used has been spoken of. The run
  /// lock is not held meanwhile: no run is refused for it, and one that begins sends the same under the same keys.
  package func deliver(for jobs: [String]) async {
    let deadline = SystemClock.uptime + patience
    for name in jobs where state.exists(name) && SystemClock.uptime < deadline {
      guard (try? state.isRunning(name)) == false, let ledger = try? state.open(name),
        (try? ledger.owesNotices) == true
      else { continue }
      await NoticeDelivery(context, until: deadline).deliver(from: ledger)
    }
  }
}
