import JobModel

/// How a transfer's work ended, for the state machine.
enum TransferEnd: Sendable, Hashable {
  case finished
  case settled(TransferState.UpToDateReason?)
  case skipped(TransferState.SkipReason)
  case failed(Failure)
  /// Stopped from outside: what was recorded stands.
  case stopped
}

extension TransferEnd {
  /// Nothing of this upload will be sent again.
  func isOver(_ stop: TransferEvent) -> Bool {
    switch self {
    case .finished, .settled, .skipped: true
    case .failed, .stopped: dropsProgress(stop)
    }
  }

  /// What was moved so far is of no more use: a failure for good, or a user who wants it gone.
  func dropsProgress(_ stop: TransferEvent) -> Bool {
    switch (self, stop) {
    case (.failed(let failure), _): failure.code.partial == .dropped
    case (.stopped, .cancel), (.stopped, .retry(fromScratch: true)): true
    case (.stopped, _), (.finished, _), (.settled, _), (.skipped, _): false
    }
  }
}
