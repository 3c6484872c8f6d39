import Admission

/// What caps all policies of a run together: rates, by `limits` and `haul limit`, and the budget of `limits`.
struct JobCaps {
  let down = RateLimit()
  let up = RateLimit()
  var budget: LedgerBudget?
}
