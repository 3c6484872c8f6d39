import JobLedger
import Posix

/// What comes of a request to a job that another process may be running.
enum ControlAnswer {
  /// It is applied or withdrawn (`JobLedger.controlState`).
  case given
  /// Nobody runs the job, or not any more: the request is for whoever made it to apply, under this lock.
  case atRest(RunLock)
  /// Whoever holds the job's lock has not applied it in time.
  case late

  /// How long an answer is waited for, seconds.
  static let patience = 5
}

extension JobLedger {
  /// Waits until the running job has answered a request, or no job runs any more: a runner that ends, or is killed, leaves
  /// the request on record.
  ///
  /// - Parameter folder: the job's, where its lock lies.
  func answer(to number: Int64, in folder: String) async throws -> ControlAnswer {
    let end = SystemClock.uptime + Double(ControlAnswer.patience)
    while true {
      switch try controlState(number) {
      case .applied, .withdrawn: return .given
      case .waiting, .begun: break
      }
      if let lock = try RunLock.take(folder, waiting: false, looks: 0) { return .atRest(lock) }
      guard SystemClock.uptime < end else { return .late }
      // The running `haul run` looks for requests a few times a second.
      try await Task.sleep(for: .milliseconds(50))
    }
  }
}
