import JobModel
import Locks

/// Hosts that gave no answer to a farewell: a thousand sessions there are not said farewell to one by one.
final class SilentHosts: Sendable {
  private let hosts = Locked<[String: (until: Double, failure: Failure)]>([:])
  /// Seconds for which a host is believed to be silent.
  private static let memory = 30.0

  /// Notes that a host gave no answer at all; of no effect where the error is another.
  func note(_ origin: String, _ error: any Error, now: Double) {
    let failure = Failure(error)
    guard failure.httpStatus == nil, failure.code == .networkUnreachable || failure.code == .timeout
    else { return }
    hosts.withLock { $0[origin] = (now + Self.memory, failure) }
  }

  /// How it was silent; nil where it may be asked.
  func current(_ origin: String, now: Double) -> Failure? {
    hosts.withLock { hosts in hosts[origin].flatMap { now < $0.until ? $0.failure : nil } }
  }
}
