import JobModel
import Testing

/// Every pair of a state and an event, written out: what it leads to, or that it changes nothing.
struct StateMachineTests {
  private typealias Outcome = (state: TransferState, actions: [TransferAction])

  private static let states: [TransferState] =
    [.queued(nil), .queued(.needs("a")), .queued(.failFast), .running, .completed, .upToDate(nil)]
    + TransferState.PauseReason.allCases.map { .paused($0) }
    + TransferState.UpToDateReason.allCases.map { .upToDate($0) }
    + [.failed, .canceled, .skipped(.disabled), .skipped(.exists), .skipped(.needs("a"))]

  private static let events: [TransferEvent] =
    [
      .start, .finish, .settle(nil), .settle(.adopted), .settle(.duplicate), .await(.needs("b")),
      .await(.failFast), .skip(.disabled), .skip(.exists), .skip(.needs("b")), .pauseByUser, .resumeByUser,
      .cancel, .retry(fromScratch: false), .retry(fromScratch: true), .newAttempt, .tryAgain,
      .newRun, .reopen,
    ] + TransferState.PauseReason.allCases.map { .hold($0) } + ErrorCode.allCases.map { .fail($0) }
    + [.lose(.diskFull), .lose(.ioError)]

  /// The table. A row: the state's word, the event's; `=` in place of a state keeps nothing and changes nothing.
  private static func expected(_ state: TransferState, _ event: TransferEvent) -> Outcome? {
    switch (state.word, event) {
    case ("queued", .start): (.running, [])
    case ("running", .finish): (.completed, [])
    case ("running", .settle(let reason)): (.upToDate(reason), [])
    case ("running", .fail(let code)): failed(code)
    case ("completed", .lose(.diskFull)), ("up_to_date", .lose(.diskFull)): (.paused(.disk), [])
    case ("completed", .lose), ("up_to_date", .lose): (.failed, [])
    case ("running", .hold(let reason)): (.paused(reason), [.stopRequests])
    case ("queued", .hold(let reason)): (.paused(reason), [])
    case ("queued", .await(let reason)): (.queued(reason), [])
    case ("queued", .skip(let reason)), ("running", .skip(let reason)), ("paused", .skip(let reason)):
      (.skipped(reason), [])
    case ("queued", .pauseByUser), ("paused", .pauseByUser): (.paused(.user), [])
    case ("running", .pauseByUser): (.paused(.user), [.stopRequests])
    case ("failed", .pauseByUser), ("canceled", .pauseByUser): (.paused(.user), [])
    case ("skipped", .pauseByUser): state == .skipped(.disabled) ? nil : (.paused(.user), [])
    case ("paused", .resumeByUser): (.queued(nil), [])
    case ("queued", .cancel), ("paused", .cancel), ("failed", .cancel): (.canceled, [.dropProgress])
    case ("running", .cancel): (.canceled, [.stopRequests, .dropProgress])
    case ("completed", .retry(true)), ("up_to_date", .retry(true)): (.queued(nil), [.dropProgress])
    case ("running", .retry(true)): (.queued(nil), [.stopRequests, .dropProgress])
    case ("completed", .retry(false)), ("up_to_date", .retry(false)), ("running", .retry(false)): nil
    case ("skipped", .retry) where state == .skipped(.disabled): nil
    case (_, .retry(let fresh)): (.queued(nil), fresh ? [.dropProgress] : [])
    case ("queued", .newAttempt), ("running", .newAttempt): (.queued(nil), [])
    case ("paused", .newAttempt):
      [.paused(.user), .paused(.retries)].contains(state) ? nil : (.queued(nil), [])
    case ("failed", .tryAgain): (.queued(nil), [])
    case ("paused", .tryAgain): state == .paused(.retries) ? (.queued(nil), []) : nil
    case ("skipped", .tryAgain): state == .skipped(.needs("a")) ? (.queued(nil), []) : nil
    case (_, .newRun): [.paused(.user), .skipped(.disabled)].contains(state) ? nil : (.queued(nil), [])
    case ("completed", .reopen), ("up_to_date", .reopen): (.queued(nil), [])
    default: nil
    }
  }

  /// report.md, Error codes: retryable ones pause, the others end; those that keep nothing drop it.
  private static func failed(_ code: ErrorCode) -> Outcome {
    switch code {
    case .diskFull: (.paused(.disk), [])
    case .networkUnreachable, .timeout, .serverError, .rateLimited, .secretUnavailable:
      (.paused(.retries), [])
    case .notFound, .remoteChanged, .integrityMismatch, .lengthMismatch, .typeMismatch, .chunkConflict,
      .digestUnavailable, .rangeInvalid, .protocolViolation, .sessionExpired, .attributesLost:
      (.failed, [.dropProgress])
    default: (.failed, [])
    }
  }

  @Test func everyPairOfStateAndEvent() {
    var taken = 0
    for state in Self.states {
      for event in Self.events {
        let next = StateMachine.next(state, event)
        let wanted = Self.expected(state, event)
        #expect(next?.state == wanted?.state, "\(state) + \(event)")
        #expect(next?.actions == wanted?.actions, "\(state) + \(event)")
        if next != nil { taken += 1 }
      }
    }
    #expect(Self.states.count * Self.events.count == 1298)
    #expect(taken == 240, "the machine's size changed: look at the table again")
  }

  @Test func stateWordsAndReasonsRoundTrip() {
    for state in Self.states {
      #expect(TransferState(word: state.word, reason: state.reason) == state, "\(state)")
    }
    let odd: TransferState = .queued(.needs("needs:a b/ü"))
    #expect(TransferState(word: odd.word, reason: odd.reason) == odd)
    #expect(TransferState(word: "done", reason: nil) == nil)
    #expect(TransferState(word: "paused", reason: "made up") == .paused(.interrupted))
  }

  @Test func whatBreaksANeed() {
    for state in Self.states {
      let breaks =
        ["failed", "canceled"].contains(state.word) || state.word == "skipped" && state != .skipped(.exists)
      #expect(state.breaksNeed == breaks, "\(state)")
    }
  }
}
