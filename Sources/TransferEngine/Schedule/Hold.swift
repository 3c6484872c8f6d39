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

  /// A run waits for it, unless it is told not to.
  var isWaitedFor: Bool {
    switch reason {
    case .window, .retries: until != nil
    case .interrupted, .user, .deadline, .budget, .interface, .metered, .disk: false
    }
  }
}
