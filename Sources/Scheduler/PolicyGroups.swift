import Admission
import Endpoints
import HTTPClient
import JobLedger
import JobModel
import Transfers

/// The policy groups of a run, each made when the first of its transfers is met.
///
/// Belongs to the engine.
final class PolicyGroups {
  private let context: TransferContext
  private let network: NetworkState
  private let began: Double
  private let opening: Double
  /// Called, on the network thread, when a group's budget is used up.
  var onSpent: @Sendable () -> Void = {}
  private var caps = JobCaps()
  /// Groups of one policy spend one budget, unless a level gives some of them another one, or another time zone.
  private var budgets: [BudgetKey: LedgerBudget] = [:]
  private(set) var all: [PolicyGroup.Key: PolicyGroup] = [:]
  /// By profile.
  private var keys: [Int64: PolicyGroup.Key] = [:]
  /// By profile: of copies, where the source's policy holds them as well.
  private var sourceKeys: [Int64: PolicyGroup.Key?] = [:]
  private var sharings: [PolicyGroup.Sharing: PolicyGroup.Key] = [:]
  /// What `haul limit` says in place of the policies.
  private(set) var limit: Bandwidth?

  /// - Parameters:
  ///   - began: when the engine began, seconds since 1970.
  ///   - opening: seconds of the attempt before that.
  init(
    _ context: TransferContext, _ network: NetworkState, began: Double, opening: Double = 0,
    limit: Bandwidth?
  ) {
    (self.context, self.network, self.began, self.opening) = (context, network, began, opening)
    set(limit: limit)
  }

  subscript(key: PolicyGroup.Key) -> PolicyGroup? { all[key] }

  func key(of transfer: LedgerTransfer) -> PolicyGroup.Key {
    if let known = keys[transfer.profile] { return known }
    let made = key(of: transfer.settings)
    keys[transfer.profile] = made
    return made
  }

  private func key(of settings: TransferSettings) -> PolicyGroup.Key {
    let sharing = PolicyGroup.Sharing(settings)
    let key = sharings[sharing] ?? PolicyGroup.Key(number: sharings.count)
    sharings[sharing] = key
    return key
  }

  /// What holds a copy beside its own group: the hours, the deadline and the network of its source's policy. Its limits are
  /// those of the destination's.
  ///
  /// - Returns: nil where nothing does.
  func sourceKey(of transfer: LedgerTransfer) -> PolicyGroup.Key? {
    if let known = sourceKeys[transfer.profile] { return known }
    let found = holdingSource(of: transfer).map { self.key(of: $0) }
    sourceKeys[transfer.profile] = .some(found)
    return found
  }

  private func holdingSource(of transfer: LedgerTransfer) -> TransferSettings? {
    guard transfer.settings.direction == .copy, var policy = transfer.settings.sourcePolicy,
      !policy.window.isEmpty || policy.deadline != nil || NetworkState.mayHold(policy)
    else { return nil }
    (policy.budget, policy.schedule) = (nil, [])
    var settings = transfer.settings.ofSource
    settings.policy = policy
    settings.policyName = nil
    if case .remote(let name, _) = transfer.source {
      settings.policyName = context.endpoints[name]?.policyName
    }
    return settings
  }

  /// - Returns: the group of `sourceKey`, which others may share, and whether it was made now.
  func sourceGroup(of transfer: LedgerTransfer) -> (group: PolicyGroup, isNew: Bool)? {
    guard let key = sourceKey(of: transfer) else { return nil }
    if let known = all[key] { return (known, false) }
    guard let settings = holdingSource(of: transfer) else { return nil }
    return (add(key, settings, budget: nil), true)
  }

  /// - Returns: the transfer's group, and whether it was made now.
  func group(of transfer: LedgerTransfer) throws -> (group: PolicyGroup, isNew: Bool) {
    let key = key(of: transfer)
    if let known = all[key] { return (known, false) }
    if caps.budget == nil, let budget = context.limits.budget {
      caps.budget = try LedgerBudget(
        budget, name: Budget.jobName, zone: context.client.clock.zone(nil), context: context, onSpent: onSpent
      )
    }
    return (add(key, transfer.settings, budget: try budget(of: transfer.settings)), true)
  }

  private func add(
    _ key: PolicyGroup.Key, _ settings: TransferSettings, budget: LedgerBudget?
  ) -> PolicyGroup {
    let group = PolicyGroup(
      settings, context: context, network: network,
      began: began - Self.opening(opening, under: settings.policy), budget: budget, caps: caps)
    group.look(now: context.client.clock.now(), overrides: limit)
    all[key] = group
    return group
  }

  /// What an opening takes of a policy's deadline: all but a second at most, as no run would ever move anything.
  private static func opening(_ seconds: Double, under policy: EffectivePolicy) -> Double {
    min(seconds, max(0, (policy.deadline ?? 0) - 1))
  }

  private struct BudgetKey: Hashable {
    let name: String
    let budget: Budget
    let timezone: String?
  }

  private func budget(of settings: TransferSettings) throws -> LedgerBudget? {
    guard let budget = settings.policy.budget else { return nil }
    let timezone = settings.policy.timezone
    // The ledger counts apart what is counted apart here. Other keys may change from run to run, and a named policy's own
    // budget: what is spent stays spent.
    let terms = "\(budget.bytes) \(budget.period.rawValue)" + (timezone.map { " \($0)" } ?? "")
    let name = settings.policyName.map { settings.hasOwnBudget ? "\($0) \(terms)" : $0 } ?? "inline \(terms)"
    let key = BudgetKey(name: name, budget: budget, timezone: timezone)
    if let known = budgets[key] { return known }
    let made = try LedgerBudget(
      budget, name: name, zone: context.client.clock.zone(timezone), context: context, onSpent: onSpent)
    budgets[key] = made
    return made
  }

  func set(limit: Bandwidth?) {
    self.limit = limit
    let limits = context.limits
    caps.down.set(min(limit?.download ?? .unlimited, limits.downloadRate ?? .unlimited))
    caps.up.set(min(limit?.upload ?? .unlimited, limits.uploadRate ?? .unlimited))
    context.board.setLimit(limit)
  }

  /// Seconds until some group is to be looked at again; a minute at most, as the clock may be set, or the machine sleep.
  func pause(now: Double, cooldown: Double?) -> Double {
    let longest =
      all.values.contains { NetworkState.mayHold($0.policy) }
      ? 0.5 : all.values.contains(where: \.hasBudget) ? 1.0 : 60
    let next = (all.values.compactMap(\.nextLook) + [cooldown].compactMap(\.self)).min()
    return next.map { max(0.05, min(longest, $0 - now)) } ?? longest
  }

  /// Records what budgets have spent.
  func save() { for group in all.values { group.save() } }
}
