/// When a pause ends by itself.
package enum PolicyPause {
  /// The instant (seconds since 1970) at which policy and job may let a paused transfer go on; nil where none can be told.
  ///
  /// - Parameters:
  ///   - jobBudget: the period of the budget in the job's `limits`.
  ///   - isJobSpent: that one is used up.
  package static func end(
    of state: TransferState, under policy: EffectivePolicy, jobBudget: Budget.Period? = nil,
    isJobSpent: Bool = false, now: Double, zone: (String?) -> CivilZone
  ) -> Double? {
    switch state {
    case .paused(.window):
      let hours = PolicyHours(policy, zone: zone(policy.timezone))
      return hours.isOpen(at: now) ? nil : hours.nextOpening(after: now)
    case .paused(.budget):
      let own = policy.budget.map { BudgetPeriod($0.period, at: now, zone: zone(policy.timezone)).end }
      let job = jobBudget.map { BudgetPeriod($0, at: now, zone: zone(nil)).end }
      guard let begins = isJobSpent ? job : own ?? job else { return nil }
      // The window may be shut then.
      let hours = PolicyHours(policy, zone: zone(policy.timezone))
      return hours.isOpen(at: begins) ? begins : hours.nextOpening(after: begins)
    case .paused, .queued, .running, .completed, .upToDate, .failed, .canceled, .skipped: return nil
    }
  }
}
