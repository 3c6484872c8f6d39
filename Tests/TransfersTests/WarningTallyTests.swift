import JobLedger
import JobModel
import Testing

@testable import Transfers

/// Warnings by cause: the first at once, the others as a number.
struct WarningTallyTests {
  private func warning(_ message: String, of id: String?) -> Diagnostic {
    var diagnostic = Diagnostic(.warning, message)
    diagnostic.subject = id
    return diagnostic
  }

  private func recorded(
    run: Int = 1, _ note: (WarningTally) -> Void
  ) async throws -> [String] {
    let bench = try PlanBench([.init(id: "a")])
    let tally = WarningTally(bench.context.run.writer, run: run)
    note(tally)
    try await bench.context.run.writer.barrier()
    return try bench.ledger.diagnostics(run: 1).map(\.message)
  }

  @Test func theFirstIsRecordedAtOnceAndTheOthersAreCounted() async throws {
    let first = try await recorded { tally in
      for id in ["a", "b", "c", "d"] { tally.note(warning("`\(id)` is 7 bytes short", of: id)) }
    }
    #expect(first.count == 1 && first[0].contains("`a`"))
    let all = try await recorded { tally in
      for id in ["a", "b", "c", "d"] { tally.note(warning("`\(id)` is 7 bytes short", of: id)) }
      tally.flush()
      tally.flush()
    }
    #expect(all.count == 1 && all[0].contains("4") && !all[0].contains("`d`"), "\(all)")
  }

  @Test func whatSaysTheSameKeepsItsWords() async throws {
    let told = try await recorded { tally in
      for id in ["a", "b"] { tally.note(warning("chunks are 64 bytes", of: id)) }
      tally.flush()
    }
    #expect(told.count == 1 && told[0].contains("chunks are 64 bytes"), "\(told)")
  }

  @Test func whatIsOfNoTransferIsNeverCounted() async throws {
    let told = try await recorded { tally in
      for index in 1...3 { tally.note(warning("slow \(index)", of: nil)) }
    }
    #expect(told == ["slow 1", "slow 2", "slow 3"])
    #expect(try await recorded(run: 0) { $0.note(warning("slow", of: "a")) }.isEmpty)
  }

  @Test func causesHaveALimit() async throws {
    let told = try await recorded { tally in
      for index in 0..<250 { tally.note(warning("cause x\(index)y", of: "a")) }
    }
    #expect(told.count == 200)
  }

  @Test func saidOnce() {
    let said = WarnOnce()
    #expect(said.isFirst("a") && !said.isFirst("a") && said.isFirst("b"))
  }
}
