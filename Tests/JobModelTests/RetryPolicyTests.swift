import JobModel
import Testing

struct RetryPolicyTests {
  private func retry(attempts: Int = 4) -> RetryPolicy {
    var policy = EffectivePolicy()
    policy.retryAttempts = attempts
    policy.retryInitial = 1
    policy.retryMax = 8
    policy.retryMultiplier = 2
    policy.retryJitter = .none
    return RetryPolicy(policy)
  }

  private func next(
    _ failure: Failure, tries: Int = 1, mayRenew: Bool = true, _ retry: RetryPolicy? = nil
  ) -> RetryPolicy.Step {
    (retry ?? self.retry()).next(after: failure, tries: tries, mayRenew: mayRenew, random: 0)
  }

  /// Every code, with what it means where its maker says nothing else.
  @Test func classesOfCodes() {
    let classes: [ErrorCode: FailureClass] = [
      .networkUnreachable: .transient, .timeout: .transient, .serverError: .transient,
      .rateLimited: .transient,
      .rangeInvalid: .transient, .protocolViolation: .transient, .diskFull: .deferred,
      .secretUnavailable: .deferred, .unauthorized: .credentialExpired, .forbidden: .denied,
      .sessionExpired: .sessionGone, .sourceChanged: .sourceChanged,
      .integrityMismatch: .damaged(chunk: nil), .chunkConflict: .damaged(chunk: nil),
    ]
    for code in ErrorCode.allCases {
      #expect(Failure(code, "").class == classes[code] ?? .permanent, "\(code)")
    }
    #expect(Failure(.unauthorized, "", httpStatus: 401).class == .denied)
    #expect(Failure(.unauthorized, "", httpStatus: 400).class == .credentialExpired)
    #expect(Failure(.protocolViolation, "", httpStatus: 303).class == .permanent)
    #expect(Failure(.protocolViolation, "", httpStatus: 400).class == .permanent)
    #expect(Failure(.protocolViolation, "", httpStatus: 501).class == .permanent)
    #expect(Failure(.protocolViolation, "", httpStatus: 200).class == .transient)
    #expect(Failure(.integrityMismatch, "", chunk: 3).class == .damaged(chunk: 3))
    #expect(Failure(.chunkConflict, "", chunk: 3).class == .damaged(chunk: nil))
    #expect(Failure(.timeout, "", class: .deferred).class == .deferred)
    #expect(Failure(.notFound, "").classed(.sessionGone).class == .sessionGone)
  }

  /// Every class, with the step that follows its first and its last try.
  @Test func steps() {
    let repeated: [FailureClass] = [.transient, .damaged(chunk: 0)]
    let ended: [FailureClass] = [
      .deferred, .sessionGone, .objectChanged, .rangesUnserved, .sourceChanged, .damaged(chunk: nil), .denied,
      .permanent,
    ]
    for meaning in repeated {
      let failure = Failure(.internal, "", class: meaning)
      #expect(
        (1...5).map { next(failure, tries: $0) } == [
          .repeatRequest(after: 1), .repeatRequest(after: 2), .repeatRequest(after: 4), .giveUp, .giveUp,
        ])
    }
    for meaning in ended { #expect(next(Failure(.internal, "", class: meaning)) == .giveUp, "\(meaning)") }
  }

  /// A renewal is not a try; without a credential, or after it was renewed, the refusal counts.
  @Test func renewals() {
    let expired = Failure(.unauthorized, "", class: .credentialExpired)
    for tries in 1...6 { #expect(next(expired, tries: tries) == .renewCredential) }
    #expect(next(expired, mayRenew: false) == .giveUp)
  }

  /// What a server asks for is waited for, or, where it is too long, left to a pause; the last try is the last.
  @Test func cooldowns() {
    let wishes: [(Double, RetryPolicy.Step)] = [
      (0, .repeatRequest(after: 1)), (30, .repeatRequest(after: 31)), (80, .repeatRequest(after: 81)),
      (80.5, .coolDown(80.5)), (86_400, .coolDown(86_400)),
    ]
    for (wish, step) in wishes {
      let failure = Failure(.rateLimited, "", retryAfter: wish)
      #expect(next(failure) == step)
      #expect(next(failure, tries: 4) == .giveUp)
    }
  }

  /// A request that cleans up is made three times within a second, and never to a host that is silent.
  @Test func cleanup() {
    let retry = RetryPolicy.cleanup(EffectivePolicy())
    let broken = Failure(.serverError, "")
    #expect(
      (1...3).map { next(broken, tries: $0, retry) } == [
        .repeatRequest(after: 0.3), .repeatRequest(after: 0.3), .giveUp,
      ])
    #expect(next(Failure(.timeout, ""), retry) == .giveUp)
    #expect(next(Failure(.rateLimited, "", retryAfter: 5), retry) == .repeatRequest(after: 0.3))
  }
}
