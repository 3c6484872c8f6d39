import JobModel

/// How a transfer's work ended, for the state machine.
enum TransferEnd: Sendable {
  case finished
  case settled(TransferState.UpToDateReason?)
  case skipped(TransferState.SkipReason)
  case failed(Failure)
  /// Stopped from outside: what was recorded stands.
  case stopped
}
