import JobModel
import Testing

@testable import Scheduler

/// What transfers are paused for by a run's end.
struct StopCauseTests {
  @Test(arguments: [
    (StopCause.interrupted, TransferState.PauseReason.interrupted), (.deadline, .deadline),
    (.failFast, .interrupted), (.ledger("x"), .interrupted),
  ])
  func causes(_ cause: StopCause, _ reason: TransferState.PauseReason) { #expect(cause.pause == reason) }
}
