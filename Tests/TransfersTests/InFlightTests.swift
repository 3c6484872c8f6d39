import Endpoints
import Admission
import HTTPClient
import JobLedger
import JobModel
import Maintenance
import Scheduler
import Synchronization
import TestSupport
import Testing
import Transfers

/// What is in flight while something besides its own work decides about it.
@Suite(.timeLimit(.minutes(5)))
struct InFlightTests {
  private func engine(_ bench: PlanBench) -> TransferEngine {
    TransferEngine(
      bench.context, maintenance: bench.maintenance, network: .test, selected: nil, failFast: false)
  }

  private func begun(_ id: String, _ bench: PlanBench) async throws {
    while !bench.context.board.current.contains(where: { $0.id == id }) {
      try await Task.sleep(for: .milliseconds(1))
    }
  }

  /// What is in flight when the state can't be used any more is on record before its writer is closed.
  @Test func aStateThatFailsEndsWhatIsInFlight() async throws {
    let bench = try PlanBench([.init(id: "a")])
    bench.transport.onSend.withLock { $0 = { _ in try await Task.sleep(for: .seconds(3600)) } }
    let engine = engine(bench)
    let run = Task { try await engine.run() }
    try await begun("a", bench)
    _ = try Sums.shell("sqlite3 -cmd '.timeout 10000' plan.sqlite 'DROP TABLE rest'", in: bench.path)
    await #expect(throws: LedgerError.self) { try await engine.apply(Control(.retry, ids: [])) }
    await #expect(throws: LedgerError.self) { try await run.value }
    try await bench.record()
    #expect(try bench.transfer(1).state == .paused(.interrupted))
  }

  /// A control ends what is in flight before it waits for another one's session, beside which that could complete.
  @Test func aControlIsToldBeforeAnythingIsWaitedFor() async throws {
    let bench = try PlanBench([.init(id: "up", from: "a", to: "api:k"), .init(id: "down", to: "out/down")]) {
      sent in
      sent.method == "DELETE"
        ? .status(204) : Reply(status: 200, headers: ["Content-Length": "3"], body: [1, 2, 3])
    }
    try await bench.alter(1, .paused(.user)) {
      ($0.session, $0.sessionState) = (RemoteSession(id: "s1", chunkSize: 5), .open)
    }
    let isEnding = Mutex(false)
    let board = bench.context.board
    // The download's answer comes while the session is being ended, which takes until the download is over.
    bench.transport.onSend.withLock {
      $0 = { method in
        let isEnd = method == "DELETE"
        if isEnd { isEnding.withLock { $0 = true } }
        while isEnd ? board.current.contains(where: { $0.id == "down" }) : !isEnding.withLock({ $0 }) {
          try await Task.sleep(for: .milliseconds(1))
        }
      }
    }
    let engine = engine(bench)
    let run = Task { try await engine.run() }
    try await begun("down", bench)
    #expect(try await engine.apply(Control(.cancel, ids: [])) == 2)
    try await run.value
    #expect(bench.methods.contains("DELETE") && !bench.exists("out/down"))
    for seq in [1, 2] as [Int64] { #expect(try bench.transfer(seq).state == .canceled) }
  }

  /// Requests that hear of their end, and take until they are let go.
  private func slowToEnd(_ bench: PlanBench, _ flags: Flags) {
    bench.transport.onSend.withLock {
      $0 = { _ in
        flags.isSending.withLock { $0 = true }
        try? await Task.sleep(for: .seconds(3600))
        flags.isEnding.withLock { $0 = true }
        await Task.detached {
          while !flags.isReleased.withLock({ $0 }) { try? await Task.sleep(for: .milliseconds(1)) }
        }.value
        try Task.checkCancellation()
      }
    }
  }

  private final class Flags: Sendable {
    let isSending = Mutex(false)
    let isEnding = Mutex(false)
    let isReleased = Mutex(false)
  }

  /// A run with one transfer, whose request is slow to end.
  private func sending(_ flags: Flags) async throws -> (PlanBench, TransferEngine, Task<Void, any Error>) {
    let bench = try PlanBench([.init(id: "a")])
    slowToEnd(bench, flags)
    let engine = engine(bench)
    let run = Task { try await engine.run() }
    while !flags.isSending.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
    return (bench, engine, run)
  }

  /// Who asked is told that it is done once it is on record, which a kill does not take back.
  @Test func aControlIsAppliedOnceItIsOnRecord() async throws {
    let flags = Flags()
    let (bench, engine, run) = try await sending(flags)
    let release = Task {
      while !flags.isEnding.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
      try await Task.sleep(for: .milliseconds(100))
      flags.isReleased.withLock { $0 = true }
    }
    #expect(try await engine.apply(Control(.pause, ids: [])) == 1)
    #expect(try bench.transfer(1).state == .paused(.user))
    try await release.value
    try await run.value
  }

  /// The run is stopped before what a control has told has ended: that becomes what the user wants all the same.
  @Test func aStopBehindAControl() async throws {
    let flags = Flags()
    let (bench, engine, run) = try await sending(flags)
    let pause = Task { try await engine.apply(Control(.pause, ids: [])) }
    while !flags.isEnding.withLock({ $0 }) { try await Task.sleep(for: .milliseconds(1)) }
    await engine.stop(.interrupted)
    await #expect(throws: CancellationError.self) { try await pause.value }
    flags.isReleased.withLock { $0 = true }
    try await run.value
    #expect(try bench.transfer(1).state == .paused(.user))
  }

  /// Of a plan of any length: what is left of the control stays on record.
  @Test func aControlEndsWithTheRunThatIsStopped() async throws {
    let count = 1100
    let bench = try PlanBench((0..<count).map { PlanBench.Line(id: "t\($0)", to: "out/t\($0)") })
    let engine = engine(bench)
    await engine.stop(.interrupted)
    await #expect(throws: CancellationError.self) { try await engine.apply(Control(.pause, ids: [])) }
    try await bench.record()
    let paused = try bench.ledger.counts().pausedByUser
    #expect(paused > 0 && paused < count)
  }
}
