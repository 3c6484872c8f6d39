import JobModel
import Synchronization


/// The cause of a stop, for the transfers that it ends.
final class StopFlag: Sendable {
  private let cause = Mutex<StopCause?>(nil)

  var pause: TransferState.PauseReason { cause.withLock { $0?.pause ?? .interrupted } }
  func set(_ value: StopCause) { cause.withLock { $0 = value } }
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
