import JobLedger
import Posix

/// What commands other than `run` do about notices that a run left behind: they send them, once their own work is done.
package struct OwedNotices: Sendable {
  /// Seconds for all jobs together: whoever looks at a status does not wait for a receiver that is down.
  private let patience: Double

  private let context: CommandContext

  package init(_ context: CommandContext, patience: Double = 5) {
    self.context = context
    self.patience = patience
  }

  /// Sends what the jobs owe. A job that runs sends its own, and one whose state can't be used has been spoken of. The run
  /// lock is not held meanwhile: no run is refused for it, and one that begins sends the same under the same keys.
  package func deliver(for states: [JobState]) async {
    let deadline = SystemClock.uptime + patience
    for each in states where each.state.exists(each.job) && SystemClock.uptime < deadline {
      let (name, state) = (each.job, each.state)
      guard (try? state.isRunning(name)) == false, let ledger = try? state.open(name),
        (try? ledger.owesNotices) == true
      else { continue }
      await NoticeDelivery(context, until: deadline).deliver(from: ledger)
    }
  }
}
