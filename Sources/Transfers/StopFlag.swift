package import JobModel
import Locks

/// What a transfer is to become when its task is cancelled.
package final class StopFlag: Sendable {
  private let requested = Locked<TransferEvent?>(nil)

  var event: TransferEvent { requested.withLock { $0 ?? .hold(.interrupted) } }
  package init() {}

  package func set(_ event: TransferEvent) { requested.withLock { $0 = event } }
}
