import JobLedger
import JobModel
import Testing
import TestSupport

@testable import Scheduler

struct RecordedCooldownsTests {
  private let scratch: Scratch
  private let ledger: JobLedger
  private let one = PolicyGroup.Key(number: 1)
  private let two = PolicyGroup.Key(number: 2)

  init() throws {
    scratch = try Scratch()
    ledger = try JobLedger(folder: scratch.path, mayMigrate: true)
  }

  /// What a run that begins at second 1000 finds of these ends.
  private func cooldowns(
    _ ends: [String: Double], askedAt: Double? = nil
  ) async throws -> RecordedCooldowns {
    let writer = LedgerWriter(ledger) { Issue.record("\($0)") }
    for (origin, end) in ends { writer.submit(.cooldown(origin: origin, until: end, askedAt: askedAt)) }
    try await writer.barrier()
    let found = try RecordedCooldowns(ledger, writer, now: 1000)
    try await writer.barrier()
    try writer.close()
    return found
  }

  @Test func pastOnesAreForgottenAndLongOnesCut() async throws {
    let found = try await cooldowns(["past": 900, "soon": 1060, "never": 9e9])
    #expect(found.end(of: "past", now: 1000) == nil && found.end(of: "soon", now: 1000) == 1060)
    #expect(found.end(of: "soon", now: 1060) == nil)
    #expect(found.end(of: "never", now: 1000) == 87_400.0)
    #expect(try ledger.rests(now: 1000)["never"] == 87_400.0, "on record as well")
  }

  /// The clock was set back by a day: a rest of two minutes is one of two minutes from now on.
  @Test func aRestIsNoLongerThanItWasAskedFor() async throws {
    let asked = 1000.0 + 86_400
    let found = try await cooldowns(["a": asked + 120, "b": asked + 60], askedAt: asked)
    #expect(found.end(of: "a", now: 1000) == 1120 && found.end(of: "b", now: 1000) == 1060)
    #expect(
      try ledger.cooldowns(now: 990, limit: 9).map(\.until) == [1050, 1110], "status says no more either")
    let later = try await cooldowns(["c": 1050], askedAt: 950)
    #expect(later.end(of: "c", now: 1000) == 1050)
  }

  @Test func whoWaitsIsGivenBackOnce() async throws {
    var found = try await cooldowns(["a": 1010, "b": 1020, "c": 1005])
    #expect(found.nextEnd == nil && found.groups.isEmpty)
    let areFirst = [found.wait(1, for: "a", one), found.wait(2, for: "a", two), found.wait(3, for: "b", one)]
    #expect(areFirst == [true, false, true])
    #expect(found.groups == [one, two] && found.nextEnd == 1010)
    let unwaited = found.takeEnded(now: 1009)
    #expect(unwaited.isEmpty, "nobody waits for the one that ended")
    let ended = found.takeEnded(now: 1015)
    #expect(ended.map(\.origin) == ["a"] && ended.first.map { $0.seqs.sorted() } == [1, 2])
    let again = found.takeEnded(now: 1015)
    #expect(again.isEmpty && found.groups == [one] && found.nextEnd == 1020)
    found.endAll()
    let rest = found.takeEnded(now: 1015)
    #expect(rest.map(\.origin) == ["b"] && found.isEmpty)
  }
}
