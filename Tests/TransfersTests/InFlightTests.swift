import Admission
import HTTPClient
import JobLedger
import JobModel
import Maintenance
import Scheduler
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
}
