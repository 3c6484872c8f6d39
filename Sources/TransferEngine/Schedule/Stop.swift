import JobModel
import Locks

/// What a transfer is to become when its task is cancelled.
final class StopFlag: Sendable {
  private let wish = Locked<TransferEvent?>(nil)

  var event: TransferEvent { wish.withLock { $0 ?? .hold(.interrupted) } }
  func set(_ event: TransferEvent) { wish.withLock { $0 = event } }
}

/// Why a run stops before its work is done.
package enum StopCause: Sendable, Hashable {
  /// A signal.
  case interrupted
  /// `--deadline`.
  case deadline
  /// `--fail-fast`.
  case failFast
  /// The ledger can't be written any more.
  case ledger(String)

  var pause: TransferState.PauseReason {
    switch self {
    case .deadline: .deadline
    case .interrupted, .failFast, .ledger: .interrupted
    }
  }
}
