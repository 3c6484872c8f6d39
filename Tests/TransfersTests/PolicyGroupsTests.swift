import Admission
import HTTPClient
import JobLedger
import JobModel
import Testing
import Transfers

@testable import Scheduler

/// Which transfers share turns, rates and budgets, and what caps them all.
struct PolicyGroupsTests {
  private func groups(
    _ bench: PlanBench, limit: Bandwidth? = nil, _ network: NetworkState = .test
  ) -> PolicyGroups {
    PolicyGroups(bench.context, network, began: PlanBench.began, limit: limit)
  }

  /// By name, as long as no level refines what is shared; without one, where all is equal.
  @Test func whoShares() throws {
    let settings: [(String?, @Sendable (inout EffectivePolicy) -> Void)] = [
      ("p", { _ in }), ("p", { $0.chunksInFlight = 9 }), ("p", { $0.downloadRate = .bytesPerSecond(5) }),
      ("q", { _ in }), (nil, { _ in }), (nil, { _ in }), (nil, { $0.chunksInFlight = 9 }),
    ]
    let bench = try PlanBench(
      settings.enumerated().map { index, one in
        .init(id: "t\(index)", to: "out/\(index)") {
          $0.policyName = one.0
          one.1(&$0.policy)
        }
      })
    let groups = groups(bench)
    let numbers = try settings.indices.map { try groups.key(of: bench.transfer(Int64($0 + 1))).number }
    #expect(numbers == [0, 0, 1, 2, 3, 3, 4])
    let first = try groups.group(of: bench.transfer(1))
    let again = try groups.group(of: bench.transfer(2))
    #expect(first.isNew && !again.isNew && first.group === again.group && groups.all.count == 1)
  }

  /// A listing's time is the attempt's, but for a deadline that would leave a run none.
  @Test(arguments: [(60, 40), (200, 1)] as [(Double, Double)])
  func theOpeningIsOfTheDeadlinesTime(_ opening: Double, _ left: Double) throws {
    let bench = try PlanBench([.init(id: "a") { $0.policy.deadline = 100 }])
    let groups = PolicyGroups(bench.context, .test, began: PlanBench.began, opening: opening, limit: nil)
    let group = try groups.group(of: bench.transfer(1)).group
    #expect(group.hold == nil && group.nextLook == bench.now + left)
  }

  @Test func whatCapsThemAll() throws {
    var limits = JobLimits()
    limits.downloadRate = .bytesPerSecond(100)
    let bench = try PlanBench(
      [.init(id: "a") { $0.policy.downloadRate = .bytesPerSecond(70) }], limits: limits)
    let groups = groups(bench, limit: Bandwidth(download: .bytesPerSecond(50), upload: .bytesPerSecond(9)))
    let throttle = try groups.group(of: bench.transfer(1)).group.throttle
    #expect(throttle.rate(.download) == 50 && throttle.rate(.upload) == 9)
    #expect(bench.context.board.limit == groups.limit)
    groups.set(limit: nil)
    try groups.group(of: bench.transfer(1)).group.look(now: bench.now, overrides: nil)
    #expect(throttle.rate(.download) == 70 && throttle.rate(.upload) == nil)
  }

  /// The job's own budget is shared by all, and goes on in the next run.
  @Test func theJobsBudget() async throws {
    var limits = JobLimits()
    limits.budget = Budget(bytes: 10, period: .month)
    let bench = try PlanBench(
      ["p", "q"].map { name in .init(id: name, to: "out/\(name)") { $0.policyName = name } }, limits: limits)
    let groups = groups(bench)
    let (one, two) = (
      try groups.group(of: bench.transfer(1)).group, try groups.group(of: bench.transfer(2)).group
    )
    one.throttle.count(6)
    two.throttle.count(4)
    for group in [one, two] {
      group.look(now: bench.now, overrides: nil)
      #expect(group.hold?.reason == .budget && group.hasBudget)
    }
    groups.save()
    try await bench.record()
    let later = try self.groups(bench).group(of: bench.transfer(1)).group
    #expect(later.hold?.reason == .budget)
  }

  /// A level that refines a policy's rate has turns of its own, and the policy's budget.
  @Test func aBudgetIsOneHoweverItIsRefined() throws {
    let changes: [(String?, @Sendable (inout EffectivePolicy) -> Void)] = [
      ("p", { _ in }), ("p", { $0.downloadRate = .bytesPerSecond(5) }), ("q", { _ in }),
      ("p", { $0.budget = Budget(bytes: 11, period: .day) }), (nil, { _ in }),
    ]
    let bench = try PlanBench(
      changes.enumerated().map { index, one in
        .init(id: "t\(index)", to: "out/\(index)") {
          $0.policyName = one.0
          $0.policy.budget = Budget(bytes: 10, period: .day)
          one.1(&$0.policy)
        }
      })
    let groups = groups(bench)
    let all = try changes.indices.map { try groups.group(of: bench.transfer(Int64($0 + 1))).group }
    all[0].throttle.count(6)
    all[1].throttle.count(4)
    #expect(all.map(\.throttle.isSpent) == [true, true, false, false, false])
  }

  /// What a run counts apart has a count of its own on record, and what it counts as one has one.
  @Test func theLedgerCountsAsTheRunDoes() async throws {
    let changes: [@Sendable (inout TransferSettings) -> Void] = [
      { $0.policyName = "p" },
      { ($0.policyName, $0.policy.chunksInFlight, $0.policy.downloadRate) = ("p", 9, .bytesPerSecond(5)) },
      { ($0.policyName, $0.policy.timezone, $0.hasOwnBudget) = ("p", "Europe/Berlin", true) },
      { $0.policyName = nil }, { $0.policy.chunksInFlight = 9 }, { $0.policy.timezone = "Europe/Berlin" },
    ]
    let bench = try PlanBench(
      changes.enumerated().map { index, change in
        .init(id: "t\(index)", to: "out/\(index)") {
          $0.policy.budget = Budget(bytes: 100, period: .day)
          change(&$0)
        }
      })
    let groups = groups(bench)
    for index in changes.indices {
      try groups.group(of: bench.transfer(Int64(index + 1))).group.throttle.count(1 << index)
    }
    groups.save()
    try await bench.record()
    let day = BudgetPeriod(.day, at: bench.now, zone: .utc).name
    let names = ["p", "p 100 day Europe/Berlin", "inline 100 day", "inline 100 day Europe/Berlin"]
    #expect(try names.map { try bench.ledger.spent(policy: $0, period: day) } == [3, 4, 24, 32])
  }

  struct Look: Sendable {
    var change: @Sendable (inout EffectivePolicy) -> Void = { _ in }
    /// Seconds until a cool-down ends that somebody waits for.
    var cooldown: Double?
    var pause: Double
  }

  @Test(arguments: [
    Look(pause: 60), Look(change: { $0.budget = Budget(bytes: 1, period: .day) }, pause: 1),
    Look(change: { $0.interface = "eth9" }, pause: 0.5), Look(change: { $0.deadline = 7 }, pause: 7),
    Look(change: { $0.deadline = 7 }, cooldown: 3, pause: 3),
    Look(change: { $0.deadline = 0.01 }, pause: 0.05),
  ]) func theNextLook(_ look: Look) throws {
    let bench = try PlanBench([.init(id: "a") { look.change(&$0.policy) }])
    let groups = groups(bench)
    _ = try groups.group(of: bench.transfer(1))
    #expect(groups.pause(now: bench.now, cooldown: look.cooldown.map { bench.now + $0 }) == look.pause)
  }

  @Test(
    arguments: [
      (2, nil, [true, true], true), (2, nil, [true, false], false), (nil, 0.5, [true, true], false),
      (nil, 0.5, Array(repeating: true, count: 5) + Array(repeating: false, count: 5), true),
      (nil, 0.5, Array(repeating: true, count: 4) + Array(repeating: false, count: 6), false),
    ] as [(Int?, Double?, [Bool], Bool)])
  func failFast(_ most: Int?, _ share: Double?, _ fails: [Bool], _ ends: Bool) throws {
    let bench = try PlanBench([
      .init(id: "a") { ($0.policy.failFastFailures, $0.policy.failFastShare) = (most, share) }
    ])
    let group = try groups(bench).group(of: bench.transfer(1)).group
    #expect(group.count(.paused(.retries)) == false)
    let last = fails.map { group.count($0 ? .failed : .completed) }.last
    #expect(last == ends)
  }
}
