import JobLedger
import JobModel
import Testing

struct RunTests {
  private func settle(_ ledger: JobLedger, _ states: [TransferState]) async throws {
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    for (index, state) in states.enumerated() { writer.submit(.state(seq: Int64(index + 1), state)) }
    try await writer.barrier()
    try writer.close()
  }

  private static let states: [TransferState] = [
    .queued(.needs("x")), .running, .paused(.user), .paused(.retries), .completed, .upToDate(nil), .failed,
    .canceled,
    .skipped(.disabled), .skipped(.exists), .skipped(.needs("x")), .queued(.failFast),
  ]

  private func ledger(_ folder: TemporaryFolder) async throws -> JobLedger {
    let ledger = try folder.ledger()
    try ledger.compile(Self.states.indices.map { Entry(id: "t\($0)", identity: UInt8($0)) })
    return ledger
  }

  @Test func aNewRunOpensAllButWhatAUserHolds() async throws {
    let folder = TemporaryFolder()
    let ledger = try await ledger(folder)
    try await settle(ledger, Self.states)
    let run = try ledger.startRun(id: "01A", overrides: ["a": "1", "b": ""], at: 10)
    #expect(run.number == 1 && run.id == "01A" && run.overrides == ["a": "1", "b": ""] && !run.isOver)
    let attempt = try #require(run.attempts.first)
    #expect(
      run.attempts.count == 1 && attempt.number == 1 && attempt.startedAt == 10 && attempt.exitCode == nil)
    for (index, transfer) in try ledger.all().enumerated() {
      let old = Self.states[index]
      let wanted: TransferState = old == .paused(.user) || old == .skipped(.disabled) ? old : .queued(nil)
      #expect(transfer.state == wanted, "\(old)")
    }
  }

  /// The same table as the state machine's `newAttempt`.
  @Test func anAttemptAgreesWithTheStateMachine() async throws {
    let folder = TemporaryFolder()
    let ledger = try await ledger(folder)
    let run = try ledger.startRun(id: "01A", overrides: [:], at: 10)
    try await settle(ledger, Self.states)
    let scope = Selection.only(try IDPattern("t*"))
    try ledger.endAttempt(
      run: run.number, outcome: .incomplete, exitCode: 75, isOver: false, bytesTransferred: 9, scope: scope,
      at: 20)
    let ended = try #require(try ledger.lastRun())
    #expect(!ended.isOver && ended.exitCode == 75 && ended.scope == scope && ended.endedAt == 20)
    let next = try ledger.startAttempt(run: run.number, at: 30)
    #expect(
      next.attempts.map(\.number) == [1, 2] && next.attempts[0].exitCode == 75
        && next.attempts[0].bytesTransferred == 9)
    #expect(next.outcome == nil && next.endedAt == nil)
    for (index, transfer) in try ledger.all().enumerated() {
      let old = Self.states[index]
      #expect(transfer.state == StateMachine.next(old, .newAttempt)?.state ?? old, "\(old)")
    }
    try await settle(ledger, Self.states)
    #expect(try ledger.requeueFailed(before: 31))
    for (index, transfer) in try ledger.all().enumerated() {
      let old = Self.states[index]
      #expect(transfer.state == StateMachine.next(old, .tryAgain)?.state ?? old, "\(old)")
    }
    try ledger.endAttempt(
      run: run.number, outcome: .completed, exitCode: 0, isOver: true, bytesTransferred: 0, scope: nil, at: 40
    )
    let second = try ledger.startRun(id: "01B", overrides: [:], at: 50)
    #expect(second.number == 2 && second.attempts.count == 1)
    #expect(
      try ledger.runs(limit: 5).map(\.number) == [2, 1] && ledger.run(number: 1)?.outcome == .completed)
    #expect(try ledger.run(number: 9) == nil)
  }

  /// What an attempt has left untold is its own, however many were killed behind it.
  @Test func eachMomentIsOfOneAttempt() async throws {
    let folder = TemporaryFolder()
    let ledger = try await ledger(folder)
    _ = try ledger.startRun(id: "01A", overrides: [:], at: 10)
    for time in [20.0, 30, 40] { _ = try ledger.startAttempt(run: 1, at: time) }
    let run = try #require(try ledger.lastRun())
    let found = [5.0, 10, 19, 20, 29, 35, 45].map { run.earlierAttempt(at: $0)?.number }
    #expect(found == [nil, 1, 1, 2, 2, 3, 3])
  }

  @Test func whatARunCameToStaysWithIt() async throws {
    let folder = TemporaryFolder()
    let ledger = try await ledger(folder)
    let run = try ledger.startRun(id: "01A", overrides: [:], at: 10)
    try await settle(ledger, Self.states)
    #expect(run.totals == nil && run.pauses.isEmpty)
    let pauses = [
      RunPause(.window, of: "office", from: 12.25, to: 14), RunPause(.cooldown, of: "https://h", from: 15),
    ]
    let totals = try ledger.totals()
    #expect(totals.counts.failed > 0 && totals.counts.total == Self.states.count)
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    writer.submit(.pauses(run: run.number, pauses))
    try await writer.barrier()
    try writer.close()
    #expect(try ledger.lastRun()?.pauses == pauses)
    // A kill leaves the pauses as they were, and totals of what is on record.
    try ledger.settleInterrupted()
    #expect(try ledger.lastRun()?.totals?.counts.running == 0)
    #expect(try ledger.lastRun()?.totals?.counts.failed == totals.counts.failed)
    _ = try ledger.startAttempt(run: run.number, at: 20)
    #expect(try ledger.lastRun()?.totals == nil && ledger.lastRun()?.pauses == pauses)
    let last = try ledger.totals()
    try ledger.endAttempt(
      run: run.number, outcome: .incomplete, exitCode: 75, isOver: true, bytesTransferred: 0, scope: nil,
      pauses: [pauses[0]], at: 30)
    _ = try ledger.startRun(id: "01B", overrides: [:], at: 40)
    let first = try #require(try ledger.runs(limit: 2).last)
    #expect(first.totals?.members == last.members && first.pauses == [pauses[0]])
  }

  @Test func whatWaitsIsCountedByItsKind() async throws {
    let folder = TemporaryFolder()
    let ledger = try await ledger(folder)
    _ = try ledger.startRun(id: "01A", overrides: [:], at: 10)
    try await settle(ledger, Self.states)
    let groups = try ledger.waitingGroups(limit: 100)
    let counts = try ledger.counts()
    #expect(groups.reduce(0) { $0 + $1.count } == counts.queued + counts.paused)
    let all = try ledger.all()
    for group in groups {
      let ids = try ledger.ids(of: group, limit: 3)
      #expect(ids.count == min(3, group.count), "\(group.state)")
      for id in ids {
        let found = all.first { $0.id == id }
        #expect(found?.state.word == group.state.word && found?.profile == group.profile)
      }
    }
    #expect(try ledger.waitingGroups(limit: 1).count == 1)
    #expect(try ledger.inFlight(limit: 10).count == counts.running)
  }

  @Test func whatIsHeldCountsChunksUnderWay() async throws {
    let folder = TemporaryFolder()
    let ledger = try await ledger(folder)
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    #expect(try ledger.heldBytes(of: 1) == 0)
    for (offset, length) in [(0, 300), (1000, 200)] as [(Int64, Int64)] {
      writer.submit(.chunk(seq: 1, ChunkRecord(offset: offset, length: length, digest: "d")))
    }
    var progress = TransferProgress()
    progress.contiguousBytes = 800
    writer.submit(.progress(seq: 2, progress))
    try await writer.barrier()
    try writer.close()
    #expect(try ledger.heldBytes(of: 1) == 500 && ledger.heldBytes(of: 2) == 800)
  }

  @Test func aNewRunCountsFromNothingAndForgetsNoProgress() async throws {
    let folder = TemporaryFolder()
    let ledger = try await ledger(folder)
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    var progress = TransferProgress()
    progress.size = 100
    progress.transferred = 5
    progress.retries = 2
    progress.requests = 3
    progress.contiguousBytes = 50
    progress.completedAt = 7
    progress.freshStarts = 1
    writer.submit(.progress(seq: 1, progress))
    try await writer.barrier()
    let sums = try ledger.sums()
    #expect(sums.planned == 100 && sums.transferred == 5 && sums.requests == 3 && sums.retries == 2)
    _ = try ledger.startRun(id: "01A", overrides: [:], at: 0)
    let now = try #require(try ledger.transfer(1)?.progress)
    #expect(now.transferred == 0 && now.retries == 0 && now.requests == 0 && now.freshStarts == 0)
    #expect(now.contiguousBytes == 50 && now.completedAt == 7 && now.size == 100)
  }

  @Test func whatARunnerLeftBehindReadsAsInterrupted() async throws {
    let folder = TemporaryFolder()
    let ledger = try await ledger(folder)
    try await settle(ledger, Self.states)
    try ledger.settleInterrupted()
    #expect(try ledger.transfer(2)?.state == .paused(.interrupted))
    #expect(try ledger.counts().running == 0)
  }

  @Test func aKilledAttemptEndsWithTheLastThingOnRecord() async throws {
    let folder = TemporaryFolder()
    let ledger = try await ledger(folder)
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    let run = try ledger.startRun(id: "01A", overrides: [:], at: 10)
    var progress = TransferProgress()
    func record(_ transferred: Int64, at time: Double) async throws {
      progress.transferred = transferred
      progress.updatedAt = time
      writer.submit(.progress(seq: 1, progress))
      writer.submit(.state(seq: 1, .running))
      try await writer.barrier()
    }
    for (attempt, (bytes, time)) in [(300, 12.5), (1000, 22)].enumerated() {
      if attempt > 0 { _ = try ledger.startAttempt(run: run.number, at: 20) }
      try await record(Int64(bytes), at: time)
      #expect(try ledger.lastRun()?.outcome == nil)
      try ledger.settleInterrupted()
      try ledger.settleInterrupted()
      let killed = try #require(try ledger.lastRun())
      #expect(killed.outcome == .incomplete && killed.exitCode == nil && !killed.isOver)
      #expect(killed.endedAt == time && killed.attempts.last?.endedAt == time)
    }
    #expect(try ledger.lastRun()?.attempts.map(\.bytesTransferred) == [300, 700])
    try writer.close()
  }

  /// A stream without ranges has nothing on record before its end: what the attempt had moved is noted apart.
  @Test func aKilledStreamHasMovedWhatWasNoted() async throws {
    let folder = TemporaryFolder()
    let ledger = try await ledger(folder)
    let run = try ledger.startRun(id: "01A", overrides: [:], at: 10)
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    for (bytes, time) in [(500, 11.5), (1500, 13.25)] as [(Int64, Double)] {
      writer.submit(.moved(run: run.number, bytes: bytes, at: time))
    }
    try await writer.barrier()
    try ledger.settleInterrupted()
    let killed = try #require(try ledger.lastRun()?.attempts.last)
    #expect(killed.bytesTransferred == 1500 && killed.endedAt == 13.25)
    // What is noted late changes nothing of an attempt that has ended.
    writer.submit(.moved(run: run.number, bytes: 9000, at: 14))
    try await writer.barrier()
    #expect(try ledger.lastRun()?.attempts.last == killed)
    _ = try ledger.startAttempt(run: run.number, at: 20)
    try ledger.settleInterrupted()
    #expect(try ledger.lastRun()?.attempts.last?.endedAt == 20)
    try writer.close()
  }

  /// What has moved in a run counts in it, whatever the manifest says by its next attempt.
  @Test(arguments: [false, true]) func whatLeavesThePlanStaysInTheTotals(_ isCompleted: Bool) async throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    try ledger.compile([Entry(id: "a"), Entry(id: "b", identity: 2)])
    let run = try ledger.startRun(id: "01A", overrides: [:], at: 10)
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    var progress = TransferProgress()
    (progress.size, progress.transferred, progress.requests) = (100, 7, 2)
    progress.completedAt = isCompleted ? 12 : nil
    writer.submit(.progress(seq: 2, progress))
    (progress.size, progress.transferred, progress.completedAt) = (50, 5, 12)
    writer.submit(.progress(seq: 1, progress))
    try await writer.barrier()
    try ledger.settleInterrupted()
    #expect(try ledger.sums().planned == 150 && ledger.sums().transferred == 12)
    try ledger.compile([Entry(id: "a"), Entry(id: "b", identity: 3)])
    #expect(try ledger.sums().planned == 50 && ledger.sums().transferred == 12)
    _ = try ledger.startAttempt(run: run.number, at: 20)
    writer.submit(.removed(seq: 2))
    progress.transferred = 9
    writer.submit(.progress(seq: 3, progress))
    try await writer.barrier()
    try writer.close()
    let sums = try ledger.sums()
    #expect(sums.transferred == 21 && sums.discarded == (isCompleted ? 0 : 7) && sums.requests == 6)
    #expect(sums.planned == 100)
    try ledger.settleInterrupted()
    #expect(try ledger.lastRun()?.attempts.map(\.bytesTransferred) == [12, 9])
    #expect(try ledger.lastRun()?.totals?.sums == sums)
    _ = try ledger.startRun(id: "01B", overrides: [:], at: 30)
    #expect(try ledger.sums().transferred == 0 && ledger.sums().discarded == 0)
  }

  /// What a refused command compiled is none of the run's that ended before it.
  @Test func aPlanIsAnotherOneOnceItIsRecompiled() throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    try ledger.compile([Entry(id: "a")])
    let first = try ledger.startRun(id: "01A", overrides: [:], at: 10)
    #expect(try !ledger.isChanged(since: first))
    try ledger.compile([Entry(id: "a")])
    #expect(try !ledger.isChanged(since: first), "it is the same")
    try ledger.compile([Entry(id: "a"), Entry(id: "b", identity: 2)])
    #expect(try ledger.isChanged(since: first))
    let again = try ledger.startAttempt(run: first.number, at: 20)
    #expect(try !ledger.isChanged(since: again))
    try ledger.compile([Entry(id: "a")])
    #expect(try ledger.isChanged(since: again))
    let second = try ledger.startRun(id: "01B", overrides: [:], at: 30)
    #expect(try !ledger.isChanged(since: second))
  }

  /// What a run applies itself is its own; what is applied behind it, unless that changes nothing, is not.
  @Test(arguments: [(true, 1, false), (false, 0, false), (false, 1, true)])
  func aControlAtRestChangesWhatARunLeft(isUnderWay: Bool, changed: Int, isTold: Bool) throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    try ledger.compile([Entry(id: "a")])
    let run = try ledger.startRun(id: "01A", overrides: [:], at: 10)
    func end() throws {
      try ledger.endAttempt(
        run: run.number, outcome: .failed, exitCode: 1, isOver: true, bytesTransferred: 0, scope: nil, at: 20)
    }
    if !isUnderWay { try end() }
    let control = try ledger.request(Control(.retry, ids: ["a"]), at: 15)
    try ledger.settleControl(control, changed: changed, at: 16)
    if isUnderWay { try end() }
    #expect(try ledger.isChanged(since: run) == isTold)
    let next = try ledger.startRun(id: "01B", overrides: [:], at: 30)
    #expect(try !ledger.isChanged(since: next))
  }

  /// Whoever applied it first may have been killed behind its changes, before their number was on record.
  @Test func aControlThatIsBegunAgainMayHaveChangedWhatARunLeft() throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    try ledger.compile([Entry(id: "a")])
    let run = try ledger.startRun(id: "01A", overrides: [:], at: 10)
    let control = try ledger.request(Control(.cancel, ids: ["a"]), at: 15)
    for _ in 0..<2 { #expect(try ledger.beginControl(control)) }
    #expect(try !ledger.isChanged(since: run), "the run's own report tells it")
    try ledger.endAttempt(
      run: run.number, outcome: .failed, exitCode: 1, isOver: true, bytesTransferred: 0, scope: nil, at: 20)
    let other = try ledger.request(Control(.retry, ids: ["a"]), at: 25)
    #expect(try ledger.beginControl(other) && !ledger.isChanged(since: run))
    #expect(try ledger.beginControl(other) && ledger.isChanged(since: run))
  }

  @Test func aSelectionLeavesTheOthersAlone() async throws {
    let folder = TemporaryFolder()
    let ledger = try await ledger(folder)
    try await settle(ledger, Self.states)
    let selection = Selection.only(try IDPattern("t{4,5,6}"))
    let rows = try ledger.rows(of: selection, continuing: nil) { _ in }
    let run = try ledger.startRun(id: "01A", overrides: [:], selecting: rows, at: 10)
    for (index, transfer) in try ledger.all().enumerated() {
      #expect(transfer.state == ([4, 5, 6].contains(index) ? .queued(nil) : Self.states[index]))
    }
    #expect(try ledger.selectedCounts(run: 1)?.total == 3)
    #expect(run.isContinued(by: selection) && !run.isContinued(by: nil))
  }

  @Test func whatLeavesTheManifestIsTheNextRuns() throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    try ledger.compile([Entry(id: "a"), Entry(id: "b"), Entry(id: "c")])
    #expect(try ledger.startRun(id: "01A", overrides: [:], at: 10).leftManifest.count == 0)
    try ledger.compile([Entry(id: "a", identity: 9), Entry(id: "c")])
    try ledger.compile([Entry(id: "a", identity: 9)])
    let run = try ledger.startRun(id: "01B", overrides: [:], at: 20)
    // `a` is another transfer now; its id is still there.
    #expect(run.leftManifest.count == 2 && run.leftManifest.ids == ["b", "c"])
    try ledger.compile([Entry(id: "a", identity: 9), Entry(id: "b")])
    #expect(try ledger.startAttempt(run: run.number, at: 30).leftManifest.ids == ["c"])
    #expect(try ledger.startRun(id: "01C", overrides: [:], at: 40).leftManifest.count == 0)
  }

  @Test func needs() async throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    var needy = Entry(id: "z", identity: 3)
    needy.settings.needs = ["a", "g/**"]
    try ledger.compile([Entry(id: "a"), Entry(id: "g/1"), Entry(id: "g/2"), Entry(id: "gg"), needy])
    #expect(try ledger.waitingProfiles().map(\.settings.needs) == [["a", "g/**"]])
    let profile = try #require(try ledger.waitingProfiles().first?.id)
    func obstacle(_ need: String, _ states: [TransferState]) async throws -> String? {
      try await settle(ledger, states)
      return try ledger.obstacle(to: need, of: profile)?.id
    }
    let open = TransferState.queued(nil)
    #expect(try await obstacle("a", [open]) == "a")
    #expect(try await obstacle("a", [.completed]) == nil)
    #expect(try await obstacle("a", [.upToDate(nil)]) == nil)
    #expect(try await obstacle("a", [.skipped(.exists)]) == nil)
    #expect(try ledger.disabled("a", of: profile) == nil)
    #expect(try await obstacle("a", [.skipped(.disabled)]) == "a")
    #expect(try ledger.disabled("a", of: profile) == "a" && ledger.disabled("*", of: profile) == "a")
    #expect(try ledger.disabled("g/**", of: profile) == nil)
    #expect(try await obstacle("g/**", [.failed, open, .completed, open]) == "g/1")
    #expect(
      try await obstacle("g/**", [.failed, open, .failed, open]) == "g/2", "what can't be mended comes first")
    #expect(try await obstacle("g/**", [.failed, .completed, .completed, .failed]) == nil)
    #expect(try await obstacle("g*", [.failed, .completed, .completed, .failed]) == "gg")
    #expect(try ledger.obstacle(to: "nobody", of: profile) == nil)
    #expect(try ledger.queued(after: 0, excluding: [profile], limit: 9).isEmpty)
    #expect(try ledger.queued(after: 0, excluding: [], limit: 9).map(\.id) == ["z"])
    let failure = Failure(.needsFailed, "gg failed")
    func skip(after last: Int64) throws -> [Int64] {
      try ledger.skipQueued(profile: profile, need: "gg", failure: failure, after: last, limit: 9, at: 5)
    }
    #expect(try skip(after: 5).isEmpty)
    #expect(try skip(after: 0) == [5] && skip(after: 0).isEmpty)
    let skipped = try #require(try ledger.transfer(5))
    #expect(skipped.state == .skipped(.needs("gg")) && skipped.progress.failure?.code == .needsFailed)
    #expect(try ledger.counts().skippedForNeeds == 1 && ledger.waitingProfiles().isEmpty)
    #expect(try ledger.needingAttention(after: 0, limit: 9).map(\.id) == ["a", "gg", "z"])
  }

  @Test func pagesAndStanding() async throws {
    let folder = TemporaryFolder()
    let ledger = try await ledger(folder)
    try await settle(ledger, Self.states)
    var seen: [Int64] = []
    while true {
      let page = try ledger.page(after: seen.last ?? 0, onlyTouched: false, limit: 5)
      if page.isEmpty { break }
      seen += page.map(\.seq)
    }
    #expect(seen == Array(1...Int64(Self.states.count)))
    let standing = try ledger.standing()
    #expect(standing.counts.total == Self.states.count && standing.counts.skippedForNeeds == 1)
    #expect(standing.pausedReasons == ["user": 1, "retries": 1])
  }

  @Test func diagnosticsAndEvents() async throws {
    let folder = TemporaryFolder()
    let ledger = try folder.ledger()
    let run = try ledger.startRun(id: "01A", overrides: [:], at: 0)
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    let mark = SourceMark(file: "job.yaml", line: 3, column: 7)
    for _ in 0..<3 {
      writer.submit(.diagnostic(run: run.number, Diagnostic(.warning, "m", at: mark, hint: "h")))
    }
    writer.submit(.diagnostic(run: run.number, Diagnostic(.error, "n")))
    // What transfers say alike is one diagnostic, over the attempts of a run, too.
    for (count, ids) in [(1997, ["a", "b", "c"]), (3, ["a", "d", "e"])] {
      var shared = Diagnostic(.warning, "`\(ids[0])` has no digest")
      shared.subject = ids[0]
      writer.submit(.diagnostic(run: run.number, shared))
      writer.submit(
        .diagnosticCount(run: run.number, shared, message: "`…` has no digest", count: count, ids: ids))
    }
    var alone = Diagnostic(.warning, "is late")
    alone.subject = "z"
    writer.submit(.diagnostic(run: run.number, alone))
    writer.submit(.events(run: run.number, count: 42))
    try await writer.barrier()
    let read = try ledger.diagnostics(run: run.number)
    #expect(
      read.map(\.message) == [
        "m", "n", "2000 transfers: `…` has no digest (a, b, c and 1997 more)", "z: is late",
      ] && read.first?.place == "job.yaml:3:7" && read.first?.hint == "h")
    #expect(try ledger.run(number: 1)?.events == 42)
  }
}
