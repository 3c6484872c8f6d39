import JobModel
import Locks

/// Endpoints that want a long rest: one transfer was told so, and no other one asks before it is over.
final class EndpointRests: Sendable {
  private let rests = Locked<[String: (until: Double, failure: Failure)]>([:])

  /// Notes that an endpoint wants no requests until then.
  ///
  /// - Parameter until: seconds since 1970.
  func note(_ endpoint: String, until: Double, _ failure: Failure) {
    rests.withLock { $0[endpoint] = (until, failure) }
  }

  /// What the endpoint said, with the seconds that are left; nil where it may be asked.
  func current(_ endpoint: String, now: Double) -> Failure? {
    rests.withLock { rests in
      guard let rest = rests[endpoint] else { return nil }
      guard now < rest.until else {
        rests[endpoint] = nil
        return nil
      }
      var failure = rest.failure
      failure.retryAfter = rest.until - now
      return failure
    }
  }
}
