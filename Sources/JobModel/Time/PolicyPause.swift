/// When a pause ends by itself.
package enum PolicyPause {
  /// The instant (seconds since 1970) at which the policy lets a paused transfer go on; nil where none can be told.
  package static func end(
    of state: TransferState, under policy: EffectivePolicy, now: Double, zone: (String?) -> CivilZone
  ) -> Double? {
    switch state {
    case .paused(.window):
      let hours = PolicyHours(policy, zone: zone(policy.timezone))
      return hours.isOpen(at: now) ? nil : hours.nextOpening(after: now)
    case .paused(.budget):
      return policy.budget.map { BudgetPeriod($0.period, at: now, zone: zone(policy.timezone)).end }
    case .paused, .queued, .running, .completed, .upToDate, .failed, .canceled, .skipped: return nil
    }
  }
}
