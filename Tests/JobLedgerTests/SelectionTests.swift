import JobModel
import Testing

@testable import JobLedger

@Suite struct LedgerSelectionTests {
  private static let states: [TransferState] = [
    .completed, .failed, .queued(nil), .paused(.retries), .paused(.user), .skipped(.needs("x")), .canceled,
    .skipped(.disabled), .upToDate(nil), .skipped(.exists),
  ]

  private func ledger(_ folder: TemporaryFolder) async throws -> JobLedger {
    let ledger = try folder.ledger()
    try ledger.compile(Self.states.indices.map { Entry(id: "t\($0)", identity: UInt8($0)) })
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    for (index, state) in Self.states.enumerated() { writer.submit(.state(seq: Int64(index + 1), state)) }
    try writer.close()
    return ledger
  }

  private func seqs(_ rows: SelectedRows) -> [Int64] {
    (1...Int64(Self.states.count)).filter(rows.rows.contains)
  }

  @Test func `what did not complete is what failed, waits, or waits for it`() async throws {
    let folder = TemporaryFolder()
    let ledger = try await ledger(folder)
    let rows = try ledger.rows(of: .failed, continuing: nil) { _ in }
    #expect(seqs(rows) == [2, 3, 4, 6])
    let run = try ledger.startRun(id: "01A", overrides: [:], selecting: rows, at: 1)
    #expect(run.selection == .failed && run.isContinued(by: .failed) && !run.isContinued(by: nil))
    #expect(try ledger.selectedCounts(run: 1)?.total == 4 && ledger.selectedCounts(run: 2) == nil)
    // What a stopped run was asked for stays, whatever became of it, and whatever was only looked for meanwhile.
    try ledger.settleQueued(profile: 1, to: .completed)
    _ = try ledger.rows(of: .only(IDPattern("t1")), continuing: nil) { _ in }
    #expect(seqs(try ledger.rows(of: .failed, continuing: 1) { _ in }) == [2, 3, 4, 6])
    #expect(seqs(try ledger.rows(of: .failed, continuing: nil) { _ in }).isEmpty)
    // A transfer that was corrected is another row under its id.
    try ledger.compile(Self.states.indices.map { Entry(id: "t\($0)", identity: UInt8($0 == 1 ? 99 : $0)) })
    let corrected = try ledger.rows(of: .failed, continuing: 1) { _ in }.rows
    #expect(corrected.contains(11) && !corrected.contains(2) && corrected.contains(3))
    // An attempt that is asked for all forgets it.
    _ = try ledger.startAttempt(run: 1, at: 2)
    #expect(try ledger.selectedCounts(run: 1) == nil)
  }

  @Test func `a list of ids is taken whole or not at all`() async throws {
    let folder = TemporaryFolder()
    let ledger = try await ledger(folder)
    func rows(_ ids: [String]) throws -> [Int64] {
      seqs(try ledger.rows(of: .ids(sha256: "0"), continuing: nil) { add in for id in ids { try add(id) } })
    }
    #expect(try rows(["t1", "t4", "t1"]) == [2, 5])
    let unknown = try #require(throws: UnknownIDs.self) { try rows(["t2", "x", "y", "z", "t", "w"]) }
    #expect(unknown.count == 5 && unknown.first == ["x", "y", "z"])
    #expect(throws: UnknownIDs.self) {
      try ledger.rows(of: .only(IDPattern("nothing*")), continuing: nil) { _ in }
    }
  }

  @Test func `a part takes of a list what it has, and says how much that is`() async throws {
    let folder = TemporaryFolder()
    let ledger = try await ledger(folder)
    let rows = try ledger.rows(of: .ids(sha256: "0"), continuing: nil, isPart: true) { add in
      for id in ["t1", "x", "t1"] { try add(id) }
    }
    #expect(seqs(rows) == [2] && rows.listed?.asked == 3 && rows.listed?.found == 2)
    _ = try ledger.startRun(id: "01A", overrides: [:], selecting: rows, at: 1)
    #expect(try ledger.listedIDs(run: 1) == rows.listed && ledger.listedIDs(run: 2) == nil)
    _ = try ledger.startAttempt(run: 1, at: 2)
    #expect(try ledger.listedIDs(run: 1) == nil)
  }
}
