package import JobModel

/// Why nothing under a policy, or to a server, moves now.
package struct Hold: Sendable, Hashable {
  package var reason: TransferState.PauseReason
  /// When it ends (seconds since 1970); nil where no waiting ends it.
  package var until: Double?

  package init(_ reason: TransferState.PauseReason, until: Double?) {
    self.reason = reason
    self.until = until
  }

  /// Something may end it: time, or a network that comes.
  package var mayEnd: Bool { until != nil || reason == .interface || reason == .metered }

  /// Whether holds for this reason may end within a run.
  package static func mayEnd(_ reason: TransferState.PauseReason) -> Bool {
    switch reason {
    case .window, .budget, .interface, .metered: true
    case .retries, .interrupted, .user, .deadline, .disk: false
    }
  }

  /// A run waits for it, unless it is told not to.
  package var isWaitedFor: Bool {
    switch reason {
    case .window, .retries: until != nil
    case .interface, .metered: true
    case .interrupted, .user, .deadline, .budget, .disk: false
    }
  }
}
