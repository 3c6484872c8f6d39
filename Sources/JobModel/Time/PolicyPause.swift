/// When a pause ends by itself.
package enum PolicyPause {
  /// The instant (seconds since 1970) at which policy and job may let a paused transfer go on; nil where none can be told.
  ///
  /// - Parameter jobBudget: the period of the budget in the job's `limits`.
  package static func end(
    of state: TransferState, under policy: EffectivePolicy, jobBudget: Budget.Period? = nil, now: Double,
    zone: (String?) -> CivilZone
  ) -> Double? {
    switch state {
    case .paused(.window):
      let hours = PolicyHours(policy, zone: zone(policy.timezone))
      return hours.isOpen(at: now) ? nil : hours.nextOpening(after: now)
    case .paused(.budget):
      let own = policy.budget.map { BudgetPeriod($0.period, at: now, zone: zone(policy.timezone)).end }
      // Which of the two is used up is not recorded.
      return [own, jobBudget.map { BudgetPeriod($0, at: now, zone: zone(nil)).end }].compactMap(\.self).min()
    case .paused, .queued, .running, .completed, .upToDate, .failed, .canceled, .skipped: return nil
    }
  }
}
