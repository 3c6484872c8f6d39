/// Whether and when a request is made again after a failure: the one place that answers.
package struct RetryPolicy: Sendable, Hashable {
  package enum Step: Sendable, Hashable {
    /// At once, with a new credential.
    case renewCredential
    /// After so many seconds.
    case repeatRequest(after: Double)
    /// The server wants a longer cool-down, in seconds, than a request waits: the transfer pauses.
    case coolDown(Double)
    case giveUp
  }

  /// Tries of one request, the first one included.
  package var attempts: Int
  package var backoff: Backoff
  /// Nobody waits for the answer: a server that is silent is asked once, and a cool-down that it asks for is not waited for.
  package var isCleanup = false

  package init(_ policy: EffectivePolicy) {
    attempts = policy.retryAttempts
    backoff = Backoff(policy)
  }

  /// For requests that clean up: three tries within a second.
  package static func cleanup(_ policy: EffectivePolicy) -> RetryPolicy {
    var retry = RetryPolicy(policy)
    retry.attempts = 3
    retry.backoff.initial = 0.3
    retry.backoff.maximum = 0.3
    retry.backoff.multiplier = 1
    retry.backoff.jitter = .none
    retry.isCleanup = true
    return retry
  }

  /// - Parameters:
  ///   - tries: so many were made.
  ///   - mayRenew: there is a credential, and it was not renewed for this request yet.
  ///   - random: in 0 ..< 1.
  package func next(after failure: Failure, tries: Int, mayRenew: Bool, random: Double) -> Step {
    if failure.class == .credentialExpired, mayRenew { return .renewCredential }
    return repeats(failure) ? again(after: failure, tries: tries, random: random) : .giveUp
  }

  /// As `next`, for what is known to be worth another try.
  package func again(after failure: Failure, tries: Int, random: Double) -> Step {
    guard tries < attempts else { return .giveUp }
    let retryAfter = isCleanup ? nil : failure.retryAfter
    if let retryAfter, retryAfter > backoff.longestRest { return .coolDown(retryAfter) }
    return .repeatRequest(after: backoff.delay(afterAttempt: tries, retryAfter: retryAfter, random: random))
  }

  /// Whether another try may mend the failure.
  package func repeats(_ failure: Failure) -> Bool {
    switch failure.class {
    case .transient: !isCleanup || failure.code != .timeout
    case .damaged(let chunk): chunk != nil
    case .deferred, .credentialExpired, .sessionGone, .objectChanged, .rangesUnserved, .sourceChanged,
      .denied,
      .permanent:
      false
    }
  }
}
