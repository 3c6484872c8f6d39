import JobModel

/// Who is not to be asked until when, and the failure that said so. A later end replaces an earlier one.
package struct CooldownStore: Sendable {
  package enum Key: Hashable, Sendable {
    /// A host that sent 429 or 503: the `Retry-After` of the answer, or a pause of our own.
    case origin(String)
    /// An endpoint, by its name, that asked one transfer for a rest longer than a request waits.
    case endpoint(String)
    /// A host that gave no answer to a best-effort cleanup request: only such requests leave it alone.
    case silence(String)
  }

  private var entries: [Key: (until: Double, failure: Failure)] = [:]

  mutating func note(_ key: Key, until: Double, _ failure: Failure) {
    if until > entries[key]?.until ?? 0 { entries[key] = (until, failure) }
  }

  /// The cool-down that lasts at `now`; where the failure names seconds to wait, they are those that are left.
  func current(_ key: Key, now: Double) -> (until: Double, failure: Failure)? {
    guard !entries.isEmpty, let (until, failure) = entries[key], now < until else { return nil }
    guard failure.retryAfter != nil else { return (until, failure) }
    var rest = failure
    rest.retryAfter = until - now
    return (until, rest)
  }
}
