import Foundation
import JobLedger
import JobModel
import Testing
import TestSupport

@testable import Scheduler

/// Who waits for whom, over a real ledger.
struct NeedsGateTests {
  private let scratch: Scratch
  private let ledger: JobLedger

  /// A plan: each transfer's id and what it needs.
  private init(_ plan: [(String, needs: [String])]) throws {
    scratch = try Scratch()
    ledger = try JobLedger(folder: scratch.path, mayMigrate: true)
    _ = try ledger.compile { add in
      for (index, (id, needs)) in plan.enumerated() {
        var settings = TransferSettings(direction: .download)
        settings.needs = needs
        let entry = PlannedTransfer(
          id: id, source: Place("http://h/\(id)"), destination: Place(id), destinationIdentity: id,
          settings: settings, expect: JobModel.Expectation(),
          mark: SourceMark(file: "job", line: 1, column: 1), takesSourceName: false)
        try add(entry, withUnsafeBytes(of: index) { Array($0) })
      }
    }
  }

  init() throws { try self.init([("a", []), ("b", ["a"]), ("c", ["b"])]) }

  private func set(_ state: TransferState, of seq: Int64) async throws {
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    writer.submit(.state(seq: seq, state))
    try await writer.barrier()
    try writer.close()
  }

  private func states() throws -> [String] {
    try ledger.page(after: 0, onlyTouched: false, limit: 9).map {
      $0.state.word + ($0.state.reason.map { " " + $0 } ?? "")
    }
  }

  @Test func eachWaitsForWhatItNeeds() async throws {
    var gate = NeedsGate()
    var outcome = try gate.settle(ledger, now: 0)
    #expect(gate.blocked.count == 2 && !outcome.hasOpened && outcome.isNews)
    #expect(gate.waits(for: "a") && gate.waits(for: "b") && !gate.waits(for: "c"))
    outcome = try gate.settle(ledger, now: 0)
    #expect(!outcome.hasOpened && !outcome.isNews, "nothing has changed")
    try await set(.completed, of: 1)
    outcome = try gate.settle(ledger, now: 0)
    #expect(gate.blocked.count == 1 && outcome.hasOpened && outcome.isNews && !gate.waits(for: "a"))
  }

  @Test func whatCanNotBeHadSkipsAllBehindIt() async throws {
    var gate = NeedsGate()
    try await set(.failed, of: 1)
    var told: [String] = []
    let outcome = try gate.settle(ledger, now: 7) {
      told.append("\($0.id) \($0.from.word) \($0.to.word) \($0.failure?.code.rawValue ?? "")")
    }
    #expect(outcome.hasOpened && gate.blocked.isEmpty)
    #expect(told == ["b queued skipped NEEDS_FAILED", "c queued skipped NEEDS_FAILED"])
    #expect(try states() == ["failed", "skipped needs:a", "skipped needs:b"])
    let failure = try #require(try ledger.transfer(2)?.progress.failure)
    #expect(failure.code == .needsFailed)
  }

  /// However they are ordered: one that failed is worth no waiting for another.
  @Test(arguments: [["a", "b"], ["b", "a"], ["[ab]"]])
  func whatFailedDecides(_ needs: [String]) async throws {
    let bench = try Self([("a", []), ("b", []), ("c", needs: needs)])
    try await bench.set(.paused(.retries), of: 1)
    try await bench.set(.failed, of: 2)
    var gate = NeedsGate()
    _ = try gate.settle(bench.ledger, now: 0)
    #expect(try bench.states() == ["paused retries", "failed", "skipped needs:b"])
  }

  @Test func whatHadNoTurnSaysWhy() throws {
    var gate = NeedsGate()
    _ = try gate.settle(ledger, now: 0)
    var told: [String] = []
    try gate.holdRest(ledger) { told.append("\($0.id) \($0.to.reason ?? "")") }
    #expect(told.sorted() == ["b needs:a", "c needs:b"])
    #expect(try states() == ["queued", "queued needs:a", "queued needs:b"])
  }

  /// Others have their turn between two pages, and may end it there.
  @Test func manyAreSkippedAPageAtATime() async throws {
    var plan: [(String, needs: [String])] = [("a", needs: [])]
    for number in 0...NeedsGate.page { plan.append(("n\(number)", needs: ["a"])) }
    plan.append(("z", needs: ["n0"]))
    let bench = try Self(plan)
    func skipped() throws -> Int { try bench.ledger.counts().skippedForNeeds }
    try await bench.set(.failed, of: 1)
    var gate = NeedsGate()
    var outcome = try gate.settle(bench.ledger, now: 0)
    #expect(outcome.isUnfinished && outcome.isNews && gate.blocked.count == 1)
    #expect(try skipped() == NeedsGate.page)
    // `a` may be had again meanwhile: who looks anew skips no more because of it, but `z`, which needs what was skipped.
    var other = gate
    try await bench.set(.completed, of: 1)
    outcome = try other.settle(bench.ledger, now: 0)
    #expect(outcome.hasOpened)
    #expect(try skipped() == NeedsGate.page + 1)
    outcome = try gate.settle(bench.ledger, isNew: false, now: 0)
    #expect(outcome.isUnfinished && outcome.hasOpened, "what was skipped may be needed")
    outcome = try gate.settle(bench.ledger, isNew: false, now: 0)
    #expect(!outcome.isUnfinished)
    #expect(try skipped() == NeedsGate.page + 2)
  }

  /// In whatever order it is written: not by a look at all of it for each of its links.
  @Test(arguments: [false, true]) func aChainIsSkippedInFewLooks(_ isReversed: Bool) async throws {
    var plan: [(String, needs: [String])] = [("n0", needs: [])]
    for number in 1...20 { plan.append(("n\(number)", needs: ["n\(number - 1)"])) }
    if isReversed { plan.reverse() }
    let bench = try Self(plan)
    try await bench.set(.failed, of: isReversed ? 21 : 1)
    var (gate, looks) = (NeedsGate(), 1)
    while try gate.settle(bench.ledger, isNew: looks == 1, now: 0).isUnfinished { looks += 1 }
    #expect(try bench.ledger.counts().skippedForNeeds == 20)
    #expect(looks <= 3)
  }

  /// Where each has needs of its own, it costs a commit: fewer are skipped before others have their turn.
  @Test func profilesOfTheirOwnAreSkippedFewAtATime() async throws {
    let most = NeedsGate.page / NeedsGate.commit
    var plan: [(String, needs: [String])] = [("a", needs: [])]
    for number in 1...most + 3 { plan.append(("n\(number)", needs: Array(repeating: "a", count: number))) }
    let bench = try Self(plan)
    try await bench.set(.failed, of: 1)
    var gate = NeedsGate()
    #expect(try gate.settle(bench.ledger, now: 0).isUnfinished)
    #expect(try bench.ledger.counts().skippedForNeeds == most)
    _ = try gate.settle(bench.ledger, isNew: false, now: 0)
    #expect(try bench.ledger.counts().skippedForNeeds == most + 3)
  }
}
