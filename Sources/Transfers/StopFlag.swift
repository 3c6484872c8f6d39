package import JobModel
import Locks

/// What a transfer is to become when its task is cancelled.
package final class StopFlag: Sendable {
  private let requested = Locked<TransferEvent?>(nil)

  var event: TransferEvent { requested.withLock { $0 ?? .hold(.interrupted) } }
  package init() {}

  /// What a user asked for outlives a hold that begins before the transfer has ended.
  package func set(_ event: TransferEvent) {
    requested.withLock { old in
      let isUsers = old.map { !$0.isHold } ?? false
      if !event.isHold || !isUsers { old = event }
    }
  }
}

extension TransferEvent {
  fileprivate var isHold: Bool { if case .hold = self { true } else { false } }
}
