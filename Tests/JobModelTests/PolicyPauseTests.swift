import JobModel
import Testing

struct PolicyPauseTests {
  /// 2023-11-14, 22:13 UTC.
  private let now = 1_700_000_000.0

  private func end(
    _ budget: Budget.Period?, job: Budget.Period? = nil, isJobSpent: Bool = false, window: [TimeWindow] = []
  ) -> Double? {
    var policy = EffectivePolicy()
    policy.budget = budget.map { Budget(bytes: 1, period: $0) }
    policy.window = window
    return PolicyPause.end(
      of: .paused(.budget), under: policy, jobBudget: job, isJobSpent: isJobSpent, now: now,
      zone: { _ in .utc })
  }

  private func next(_ period: Budget.Period) -> Double { BudgetPeriod(period, at: now, zone: .utc).end }

  /// The job's budget is everybody's: where it is used up, no other one's next period helps.
  @Test func theBudgetThatIsUsedUp() {
    #expect(end(.day) == next(.day) && end(nil, job: .week) == next(.week) && end(nil) == nil)
    #expect(end(.day, job: .month, isJobSpent: true) == next(.month))
    #expect(end(.month, job: .day) == next(.month))
  }

  /// A day begins at midnight, and the window opens at noon.
  @Test func aWindowThatIsShutThen() {
    let noon = [TimeWindow(from: 12 * 60, to: 13 * 60)]
    #expect(end(.day, window: noon) == next(.day) + 43_200)
    #expect(end(.day, window: [TimeWindow(from: 0, to: 60)]) == next(.day))
  }
}
