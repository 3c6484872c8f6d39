package import JobModel

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

  package var pause: TransferState.PauseReason {
    switch self {
    case .deadline: .deadline
    case .interrupted, .failFast, .ledger: .interrupted
    }
  }
}
