import JobModel
import Transfers

/// A transfer that is worked on.
struct RunningTransfer {
  let task: Task<Void, Never>
  let stop: StopFlag
  let group: PolicyGroup.Key
  /// Of a copy: what holds it at its source.
  let source: PolicyGroup.Key?
  let cancelPermit: () -> Void

  func end(_ event: TransferEvent) {
    stop.set(event)
    task.cancel()
    cancelPermit()
  }
}
