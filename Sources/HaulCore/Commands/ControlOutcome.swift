import JobLedger
import Posix

/// What comes of a request to a job that another process may be running.
enum ControlOutcome {
  /// It is applied or withdrawn (`JobLedger.controlState`).
  case given
  /// Nobody runs the job, or not any more: the request is for whoever made it to apply, under this lock.
  case atRest(RunLock)
  /// Whoever holds the job's lock has not applied it in so many seconds; nobody waits any longer.
  case late(after: Int)

  /// How long an answer of a run is waited for, seconds.
  static let patience = 5.0
  /// How long a run is waited for that compiles its plan, or tells of its end: it takes no requests, and soon does, or is gone.
  static let patienceAround = 30.0
}

extension JobLedger {
  /// Waits until the running job has answered a request, or no job runs any more: a runner that ends, or is killed, leaves
  /// the request on record.
  ///
  /// - Parameters:
  ///   - folder: the job's, where its lock lies.
  ///   - isStopped: whoever asked waits no longer.
  func answer(
    to number: Int64, in folder: String, isStopped: @Sendable () -> Bool = { false }
  ) async throws -> ControlOutcome {
    let begun = SystemClock.uptime
    var end = begun + ControlOutcome.patience
    while true {
      switch try controlState(number) {
      case .applied, .withdrawn: return .given
      case .waiting, .begun: break
      }
      if let lock = try RunLock.take(folder, waiting: false, looks: 0) { return .atRest(lock) }
      let now = SystemClock.uptime
      if now - begun < ControlOutcome.patienceAround, try !hasOpenAttempt() {
        end = now + ControlOutcome.patience
      }
      guard now < end, !isStopped() else { return .late(after: Int((now - begun).rounded())) }
      // The running `haul run` looks for requests a few times a second.
      try await Task.sleep(for: .milliseconds(50))
    }
  }
}
