import Admission
import HTTPClient
import JobLedger
import JobModel
import Synchronization
import Testing
import Transfers

@testable import Scheduler

/// What keeps queued transfers back, until when, and who is given back.
struct HoldsTests {
  /// Whether the interface `wwan` is up, and whether it costs by the byte.
  private final class Link: Sendable {
    let isUp = Mutex(true)
    let costs = Mutex(false)
    var state: NetworkState {
      NetworkState(
        isUp: { _ in self.isUp.withLock { $0 } }, isMetered: { self.costs.withLock { $0 } },
        isThere: { true })
    }
  }

  private let link = Link()

  /// Over a plan of two transfers under one policy.
  private func holds(
    cooldowns: [String: Double] = [:], _ change: @escaping @Sendable (inout EffectivePolicy) -> Void
  ) async throws -> (PlanBench, Holds) {
    let lines = ["a", "b"].map { id in
      PlanBench.Line(id: id, to: "out/\(id)") {
        $0.policyName = "p"
        change(&$0.policy)
      }
    }
    let bench = try PlanBench(lines)
    for (origin, end) in cooldowns { try await bench.record(.cooldown(origin: origin, until: end)) }
    let recorded = try RecordedCooldowns(bench.ledger, bench.context.run.writer, now: bench.now)
    let groups = PolicyGroups(bench.context, link.state, began: PlanBench.began, limit: nil)
    return (bench, Holds(groups, recorded, bench.context))
  }

  private func told(_ bench: PlanBench) -> [String] {
    bench.events.compactMap { event in
      switch event {
      case .held(let name, let hold): "held \(name ?? "") \(hold.reason)"
      case .released(let name, let reason): "released \(name ?? "") \(reason)"
      default: nil
      }
    }
  }

  private func words(_ changes: [Holds.Change]) -> [String] {
    changes.map { change in
      switch change {
      case .began(_, let hold): "began \(hold.reason)"
      case .ended(let seqs, let reason): "ended \(reason) \(seqs)"
      }
    }
  }

  @Test func aDeadlineHoldsForGood() async throws {
    let (bench, holds) = try await holds { $0.deadline = 100 }
    #expect(try holds.hold(bench.transfer(1)) { nil } == nil && holds.watched == 1)
    bench.pass(99)
    #expect(holds.look().isEmpty && holds.pause == 1)
    bench.pass(1)
    #expect(words(holds.look()) == ["began deadline"] && told(bench) == ["held p deadline"])
    #expect(try holds.hold(bench.transfer(2)) { nil }?.reason == .deadline)
    #expect(!holds.areWaitedFor && holds.look().isEmpty, "told of once, waited for by nobody")
  }

  /// Time that has passed stays passed.
  @Test func aClockThatIsSetBackTakesNoTimeAway() async throws {
    let (bench, holds) = try await holds { $0.deadline = 100 }
    #expect(try holds.hold(bench.transfer(1)) { nil } == nil)
    bench.pass(60)
    #expect(holds.look().isEmpty && holds.pause == 40)
    bench.pass(-86_400)
    #expect(holds.look().isEmpty && holds.pause == 40)
    bench.pass(40)
    #expect(words(holds.look()) == ["began deadline"])
  }

  @Test func aBudgetEndsWithItsPeriod() async throws {
    let (bench, holds) = try await holds { $0.budget = Budget(bytes: 10, period: .day) }
    let spent = Atomic<Int>(0)
    holds.groups.onSpent = { spent.add(1, ordering: .relaxed) }
    let group = try holds.groups.group(of: bench.transfer(1)).group
    group.throttle.count(10)
    #expect(spent.load(ordering: .relaxed) == 1 && group.throttle.isSpent)
    #expect(words(holds.look()) == ["began budget"])
    #expect(
      try holds.hold(bench.transfer(2)) { nil }?.until == BudgetPeriod(.day, at: bench.now, zone: .utc).end)
    #expect(!holds.areWaitedFor, "another day is not waited for")
    try await bench.alter(1) { $0.completedAt = bench.now }
    #expect(try holds.hold(bench.transfer(1)) { nil } == nil, "to look at what is complete moves no body")
    bench.pass(86_400)
    #expect(words(holds.look()) == ["ended budget [2]"] && holds.look().isEmpty)
    #expect(told(bench) == ["held p budget", "released p budget"])
    try await bench.record()
    let day = BudgetPeriod(.day, at: PlanBench.began, zone: .utc).name
    #expect(try bench.ledger.spent(policy: "p", period: day) == 10, "on record for the next run")
  }

  /// Whom too little is left for waits for what is given back, or for the next period.
  @Test func aBudgetThatIsTooShort() async throws {
    let (bench, holds) = try await holds { $0.budget = Budget(bytes: 10, period: .day) }
    let group = try holds.groups.group(of: bench.transfer(1)).group
    let (first, second) = (group.throttle.telling {}, group.throttle.telling {})
    #expect(first.reserve(6) && first.reserve(6) && !second.reserve(6) && holds.look().isEmpty)
    #expect(holds.add(2, pausedFor: .budget, group) == nil && holds.look().isEmpty && !holds.areWaitedFor)
    first.count(2)
    #expect(first.endReservation() && !first.endReservation())
    #expect(words(holds.look()) == ["ended budget [2]"] && second.reserve(8))
    #expect(words(holds.look()) == ["began budget"] && first.keepsBytes() && !second.keepsBytes())
    second.count(8)
    #expect(second.keepsBytes() && holds.look().isEmpty && !second.endReservation())
    bench.pass(86_400)
    #expect(words(holds.look()) == ["ended budget []"] && first.reserve(6) && !second.reserve(6))
    #expect(holds.add(2, pausedFor: .budget, group) == nil)
    bench.pass(86_400)
    #expect(words(holds.look()) == ["ended budget [2]"])
  }

  /// Wherever in a second the run is killed.
  @Test func whatIsSpentIsOnRecordWithWhatItBrought() async throws {
    let (bench, holds) = try await holds { $0.budget = Budget(bytes: 10, period: .day) }
    let day = BudgetPeriod(.day, at: bench.now, zone: .utc).name
    let throttle = try holds.groups.group(of: bench.transfer(1)).group.throttle
    throttle.count(4)
    try await bench.record(.chunk(seq: 1, ChunkRecord(offset: 0, length: 4, digest: "00000000")))
    #expect(try bench.ledger.spent(policy: "p", period: day) == 4)
    bench.pass(1)
    throttle.count(1)
    try await bench.record()
    #expect(try bench.ledger.spent(policy: "p", period: day) == 5, "no chunk says it, and none may ever do")
  }

  @Test func aWindowOpens() async throws {
    // It is 22:13.
    let (bench, holds) = try await holds { $0.window = [TimeWindow(from: 23 * 60, to: 23 * 60 + 30)] }
    let hold = try holds.hold(bench.transfer(1)) { nil }
    #expect(hold?.reason == .window && holds.areWaitedFor)
    bench.pass((hold?.until ?? 0) - bench.now - 1)
    #expect(holds.look().isEmpty)
    bench.pass(1)
    #expect(words(holds.look()) == ["ended window [1]"] && !holds.areWaitedFor)
  }

  /// Who waits for a window goes on waiting for it when the run's time is over.
  @Test func aDeadlineBeforeTheWindow() async throws {
    let (bench, holds) = try await holds {
      $0.window = [TimeWindow(from: 23 * 60, to: 23 * 60 + 30)]
      $0.deadline = 100
    }
    #expect(try holds.hold(bench.transfer(1)) { nil }?.reason == .window && holds.areWaitedFor)
    bench.pass(100)
    #expect(words(holds.look()) == ["began deadline"] && !holds.areWaitedFor)
  }

  /// Canceled, or paused by a user: the run does not wait for their window or their server.
  @Test func whatAUserDecidesAboutIsNotWaitedFor() async throws {
    let (bench, holds) = try await holds { $0.window = [TimeWindow(from: 23 * 60, to: 23 * 60 + 30)] }
    for seq in [1, 2] as [Int64] { _ = try holds.hold(bench.transfer(seq)) { nil } }
    holds.forget([1])
    #expect(holds.areWaitedFor)
    holds.forget([2])
    #expect(!holds.areWaitedFor)
    let (other, cooled) = try await self.holds(cooldowns: ["http://h": PlanBench.began + 30]) { _ in }
    _ = try cooled.hold(other.transfer(1)) { "http://h" }
    cooled.forget([1])
    #expect(!cooled.areWaitedFor && cooled.pause == nil)
  }

  /// A copy waits for its source's hours and network as for its own policy's; its limits are the destination's.
  @Test func aCopyIsHeldByItsSourcesPolicyToo() async throws {
    let bench = try PlanBench([
      PlanBench.Line(id: "a", from: "store:a", to: "api:a") { settings in
        settings.direction = .copy
        var source = settings.policy
        (source.interface, source.budget) = ("wwan", Budget(bytes: 1, period: .day))
        settings.sourcePolicy = source
      }
    ])
    let groups = PolicyGroups(bench.context, link.state, began: PlanBench.began, limit: nil)
    let holds = Holds(groups, RecordedCooldowns(), bench.context)
    let copy = try bench.transfer(1)
    #expect(try holds.hold(copy) { nil } == nil && holds.watched == 2)
    try groups.group(of: copy).group.throttle.count(10)
    link.isUp.withLock { $0 = false }
    #expect(words(holds.look()) == ["began interface"])
    let holder = try #require(holds.holder(of: copy, .interface))
    #expect(
      holder === groups.sourceGroup(of: copy)?.group && holds.add(1, pausedFor: .interface, holder) == nil)
    #expect(try holds.hold(copy) { nil }?.reason == .interface && holds.areWaitedFor)
    link.isUp.withLock { $0 = true }
    #expect(words(holds.look()) == ["ended interface [1, 1]"])
    #expect(try holds.hold(copy) { nil } == nil, "a copy spends nothing of its source's budget")
  }

  @Test func anInterfaceComesAndGoes() async throws {
    let (bench, holds) = try await holds { $0.interface = "wwan" }
    #expect(try holds.hold(bench.transfer(1)) { nil } == nil)
    link.isUp.withLock { $0 = false }
    #expect(words(holds.look()) == ["began interface"])
    #expect(bench.remarks.contains { $0.contains("`wwan` is down") })
    let group = try holds.groups.group(of: bench.transfer(1)).group
    #expect(holds.add(1, pausedFor: .interface, group) == nil && holds.areWaitedFor)
    #expect(holds.add(2, pausedFor: .user, group) == nil, "a user's pause is not the policy's to end")
    link.isUp.withLock { $0 = true }
    #expect(words(holds.look()) == ["ended interface [1]"])
    // One whose work ends after that goes back at once.
    #expect(holds.add(2, pausedFor: .interface, group).map { words([$0]) } == ["ended interface [2]"])
  }

  /// Who waits for a hold goes on waiting for it where another one's work ends late, paused for the hold before.
  @Test func aLateEndGivesNobodyElseBack() async throws {
    let (bench, holds) = try await holds { ($0.interface, $0.metered) = ("wwan", .pause) }
    #expect(try holds.hold(bench.transfer(1)) { nil } == nil)
    link.isUp.withLock { $0 = false }
    #expect(words(holds.look()) == ["began interface"])
    link.isUp.withLock { $0 = true }
    link.costs.withLock { $0 = true }
    #expect(words(holds.look()) == ["ended interface []", "began metered"])
    #expect(try holds.hold(bench.transfer(2)) { nil }?.reason == .metered)
    let group = try holds.groups.group(of: bench.transfer(1)).group
    #expect(holds.add(1, pausedFor: .interface, group).map { words([$0]) } == ["ended interface [1]"])
    link.costs.withLock { $0 = false }
    #expect(words(holds.look()) == ["ended metered [2]"])
  }

  @Test func aServersCoolDownHoldsItsOwn() async throws {
    let end = PlanBench.began + 30
    let (bench, holds) = try await holds(cooldowns: ["http://h": end]) { _ in }
    #expect(try holds.hold(bench.transfer(1)) { "http://other" } == nil)
    for seq in [1, 2] as [Int64] {
      #expect(try holds.hold(bench.transfer(seq)) { "http://h" } == Hold(.retries, until: end))
    }
    #expect(told(bench) == ["held http://h retries"] && holds.areWaitedFor && holds.pause == 30)
    bench.pass(30)
    #expect(words(holds.look()) == ["ended retries [1, 2]"] && !holds.areWaitedFor && holds.pause == nil)
    #expect(bench.context.board.holds.isEmpty)
  }
}
