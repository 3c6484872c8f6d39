import JobLedger
import JobModel
import Testing

/// Statements that move many transfers at once, against the state machine, state by state.
struct BulkTransitionTests {
  private static let states: [TransferState] =
    [
      .queued(nil), .queued(.needs("x")), .queued(.failFast), .running, .completed, .upToDate(nil), .failed,
      .canceled,
    ]
    + TransferState.PauseReason.allCases.map { .paused($0) }
    + TransferState.UpToDateReason.allCases.map { .upToDate($0) }
    + [.skipped(.disabled), .skipped(.exists), .skipped(.needs("x"))]

  private struct Bulk: CustomTestStringConvertible {
    var testDescription: String
    var event: TransferEvent
    /// The states that the statement is for, where it is not for all that the event applies to.
    var concerns: @Sendable (TransferState) -> Bool = { _ in true }
    /// Whether the statement tells of what it changes, one by one.
    var tells = true
    var statement: @Sendable (JobLedger, @escaping (StateChange) -> Void) throws -> Void
  }

  private static let bulks = [
    Bulk(testDescription: "a new run", event: .newRun, tells: false) { ledger, _ in
      _ = try ledger.startRun(id: "01B", overrides: [:], at: 10)
    },
    Bulk(testDescription: "the next attempt", event: .newAttempt, tells: false) { ledger, _ in
      _ = try ledger.startAttempt(run: 1, at: 10)
    },
    Bulk(testDescription: "what failed has another turn", event: .tryAgain) {
      _ = try $0.requeueFailed(before: 10, telling: $1)
    },
    Bulk(
      testDescription: "a retry may bring what was needed", event: .tryAgain,
      concerns: { $0 == .skipped(.needs("x")) }
    ) { try $0.requeueSkippedForNeeds(telling: $1) },
    Bulk(testDescription: "completed ones are read again", event: .reopen, tells: false) { ledger, _ in
      try ledger.reopenCompleted()
    },
    Bulk(
      testDescription: "a killed runner's", event: .hold(.interrupted), concerns: { $0 == .running },
      tells: false
    ) { ledger, _ in try ledger.settleInterrupted() },
    Bulk(
      testDescription: "what waits is held back by fail_fast", event: .await(.failFast),
      concerns: { $0 == .queued(nil) }
    ) { try $0.holdQueued(reason: .queued(.failFast), telling: $1) },
    Bulk(
      testDescription: "what waits is left out", event: .skip(.needs("y")), concerns: { $0.word == "queued" }
    ) { try $0.settleQueued(profile: 1, to: .skipped(.needs("y")), telling: $1) },
    Bulk(
      testDescription: "what waits lacks what it needs", event: .skip(.needs("y")),
      concerns: { $0.word == "queued" }
    ) {
      _ = try $0.skipQueued(
        profile: 1, need: "y", failure: Failure(.needsFailed, ""), after: 0, limit: 100, at: 10, telling: $1)
    },
    Bulk(
      testDescription: "a window opens", event: .newAttempt, concerns: { $0 == .paused(.window) }
    ) { try $0.requeue((1...Int64(states.count)).map { $0 }, pausedFor: .window, telling: $1) },
  ]

  @Test(arguments: bulks.indices) private func agrees(_ index: Int) async throws {
    let bulk = Self.bulks[index]
    let folder = TemporaryFolder()
    let ledger = try await ledger(folder)
    var told: [StateChange] = []
    try bulk.statement(ledger) { told.append($0) }
    var changed: [Int64] = []
    for (old, transfer) in zip(Self.states, try ledger.all()) {
      let next = bulk.concerns(old) ? StateMachine.next(old, bulk.event)?.state : nil
      #expect(transfer.state == next ?? old, "\(bulk.testDescription): \(old)")
      if let next, next != old { changed.append(transfer.seq) }
    }
    guard bulk.tells else { return }
    #expect(told.map(\.seq) == changed && !changed.isEmpty, "\(bulk.testDescription)")
    for change in told {
      let transfer = try #require(try ledger.transfer(change.seq))
      #expect(change.id == transfer.id && change.to == transfer.state)
      #expect(change.from == Self.states[Int(change.seq) - 1])
    }
  }

  private func ledger(_ folder: TemporaryFolder) async throws -> JobLedger {
    let ledger = try folder.ledger()
    try ledger.compile(Self.states.indices.map { Entry(id: "t\($0)", identity: UInt8($0)) })
    _ = try ledger.startRun(id: "01A", overrides: [:], at: 1)
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    for (index, state) in Self.states.enumerated() { writer.submit(.state(seq: Int64(index + 1), state)) }
    try await writer.barrier()
    try writer.close()
    return ledger
  }

  /// What satisfies a need is a statement's to say, too; what breaks it comes before what it still waits for.
  @Test func whatStandsInTheWayOfANeed() async throws {
    let folder = TemporaryFolder()
    let ledger = try await ledger(folder)
    for (index, state) in Self.states.enumerated() {
      let satisfies = ["completed", "up_to_date"].contains(state.word) || state == .skipped(.exists)
      let expected: TransferState? = satisfies ? nil : state
      #expect(try ledger.obstacle(to: "t\(index)", of: 0)?.state == expected, "\(state)")
    }
    #expect(try ledger.obstacle(to: "t*", of: 0)?.state.breaksNeed == true)
  }

  @Test func whatAnAttemptLeavesOutIsTold() async throws {
    let folder = TemporaryFolder()
    let ledger = try await ledger(folder)
    var told: [StateChange] = []
    try ledger.tellLeftOut(isSelective: false) { told.append($0) }
    #expect(told.map(\.to) == [.canceled, .paused(.user), .skipped(.disabled)])
    #expect(told.allSatisfy { $0.from == .queued(nil) })
  }

  @Test func whatEndedBehindAMomentIsTold() async throws {
    let folder = TemporaryFolder()
    let ledger = try await ledger(folder)
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    let count = Self.states.count
    for index in Self.states.indices {
      var progress = TransferProgress()
      // The last one ended first.
      (progress.endedAt, progress.transferred) = (Double(count - index), 7)
      progress.failure = Failure(.timeout, "slow")
      writer.submit(.progress(seq: Int64(index + 1), progress))
    }
    try await writer.barrier()
    try writer.close()
    var told: [EndedTransfer] = []
    try ledger.tellEnded(after: 1) { told.append($0) }
    let ends = Self.states.dropLast().reversed().filter {
      ["completed", "up_to_date", "failed", "skipped"].contains($0.word) || $0 == .paused(.retries)
    }
    #expect(told.map(\.change.to) == Array(ends) && told.map(\.endedAt) == told.map(\.endedAt).sorted())
    #expect(
      told.allSatisfy { ($0.change.failure != nil) == ["failed", "paused"].contains($0.change.to.word) })
    #expect(told.allSatisfy { $0.transferred == 7 && $0.change.from == .running })
  }

  /// More than a page of them.
  @Test func eachIsToldOnce() throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    try ledger.compile((0..<1100).map { Entry(id: "t\($0)") })
    var told: [Int64] = []
    try ledger.settleQueued(profile: 1, to: .queued(.needs("y"))) { told.append($0.seq) }
    #expect(told == Array(1...1100))
    try ledger.settleQueued(profile: 1, to: .queued(.needs("y"))) { told.append($0.seq) }
    #expect(told.count == 1100, "nothing has changed")
  }

  /// Who is meant, in order, and nobody beside them who is paused for the same.
  @Test func onlyWhoIsMeantIsReleased() async throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    try ledger.compile((0..<1100).map { Entry(id: "t\($0)") })
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    for seq in 1...1100 as ClosedRange<Int64> { writer.submit(.state(seq: seq, .paused(.window))) }
    try await writer.barrier()
    try writer.close()
    let meant = (1...1100 as ClosedRange<Int64>).filter { $0 % 10 != 0 }
    var told: [Int64] = []
    try ledger.requeue(meant.reversed(), pausedFor: .window) { told.append($0.seq) }
    #expect(told == meant)
    let all = try ledger.page(after: 0, onlyTouched: false, limit: 2000)
    #expect(all.filter { $0.state == .queued(nil) }.map(\.seq) == meant)
    try ledger.requeue(meant, pausedFor: .window) { told.append($0.seq) }
    #expect(told.count == meant.count, "nothing has changed")
  }

  /// What is recorded of a transfer that was tried stays.
  @Test func skippingAPageKeepsWhatIsRecorded() async throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    try ledger.compile((0..<4).map { Entry(id: "t\($0)", identity: UInt8($0)) })
    var progress = TransferProgress()
    (progress.attempts, progress.transferred, progress.failure) = (3, 7, Failure(.timeout, "slow"))
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    writer.submit(.progress(seq: 2, progress))
    try await writer.barrier()
    try writer.close()
    let failure = Failure(.needsFailed, "y failed")
    func skip(after last: Int64) throws -> [Int64] {
      try ledger.skipQueued(profile: 1, need: "y", failure: failure, after: last, limit: 3, at: 10)
    }
    #expect(try skip(after: 0) == [1, 2, 3])
    #expect(try ledger.all().map(\.state.word) == ["skipped", "skipped", "skipped", "queued"])
    #expect(try skip(after: 3) == [4])
    for transfer in try ledger.all() {
      let progress = transfer.progress
      #expect(transfer.state == .skipped(.needs("y")) && progress.failure == failure)
      #expect(progress.failedAt == 10 && progress.updatedAt == 10)
      let (attempts, bytes) = transfer.seq == 2 ? (3, 7) : (0, 0)
      #expect(progress.attempts == attempts && progress.transferred == Int64(bytes))
    }
  }
}
