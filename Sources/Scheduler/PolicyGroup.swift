import Admission
import HTTPClient
import JobLedger
import JobModel
import Transfers

/// What all transfers under one policy share in a run: turns, rates, hours, budget, failures.
///
/// Belongs to the engine.
final class PolicyGroup {
  /// Those of one name share, unless a level refines what is shared; those without a name where all is equal.
  enum Sharing: Hashable, Sendable {
    case named(String, Terms)
    case inline(EffectivePolicy)

    init(_ settings: TransferSettings) {
      self = settings.policyName.map { .named($0, Terms(settings.policy)) } ?? .inline(settings.policy)
    }
  }

  /// Stands for a sharing in one run: policies are long, and looked up several times a transfer.
  struct Key: Hashable, Sendable {
    let number: Int
  }

  /// What is shared.
  struct Terms: Hashable, Sendable {
    var transfers: FlightLimit
    var bandwidth: Bandwidth
    var timezone: String?
    var schedule: [ScheduleEntry]
    var window: [TimeWindow]
    var deadline: Double?
    var budget: Budget?
    var failures: Int?
    var share: Double?
    var interface: String?
    var pausesMetered: Bool

    init(_ policy: EffectivePolicy) {
      transfers = policy.transfers
      bandwidth = Bandwidth(download: policy.downloadRate, upload: policy.uploadRate)
      timezone = policy.timezone
      schedule = policy.schedule
      window = policy.window
      deadline = policy.deadline
      budget = policy.budget
      failures = policy.failFastFailures
      share = policy.failFastShare
      interface = policy.interface
      pausesMetered = policy.metered == .pause
    }
  }

  let policy: EffectivePolicy
  let name: String?
  let throttle: Throttle
  private let network: NetworkState
  private let hours: PolicyHours
  private let down: RateLimit
  private let up: RateLimit
  /// When the attempt began, by a clock that was set back as by one that was not.
  private var began: Double
  private var lookedAt: Double
  /// Its own, and the job's.
  private let budgets: [LedgerBudget]
  private(set) var hold: Hold?
  /// Nothing but a spent budget holds it: what was completed may be looked at, which moves no body.
  private(set) var mayLook = false
  private(set) var bandwidth: Bandwidth
  /// From when till when `bandwidth` and `opensAt` are known.
  private var hoursKnown = 0.0..<0.0
  /// When the window opens, if it is shut; infinite for never.
  private var opensAt: Double?
  /// When `look` may come to something else; nil for never.
  private(set) var nextLook: Double?
  /// Transfers that are paused for its hold, to be given back.
  var held: [Int64] = []
  /// Transfers that are paused because what is left of a budget does not cover them, to be given back.
  var short: [Int64] = []
  private var failed = 0
  private var ended = 0

  /// - Parameters:
  ///   - began: when the attempt began, seconds since 1970.
  ///   - budget: the policy's own, which other groups may share.
  ///   - caps: of the whole job.
  init(
    _ settings: TransferSettings, context: TransferContext, network: NetworkState, began: Double,
    budget: LedgerBudget?, caps: JobCaps
  ) {
    policy = settings.policy
    name = settings.policyName
    (self.began, lookedAt) = (began, began)
    self.network = network
    let zone = context.client.clock.zone(policy.timezone)
    hours = PolicyHours(policy, zone: zone)
    let budgets: [LedgerBudget] = [budget, caps.budget].compactMap(\.self)
    self.budgets = budgets
    let now = context.client.clock.now()
    bandwidth = hours.bandwidth(at: now)
    (down, up) = (RateLimit(bandwidth.download), RateLimit(bandwidth.upload))
    throttle = Throttle(
      down: [caps.down, down], up: [caps.up, up],
      moved: { bytes in for budget in budgets { budget.count(bytes) } },
      spent: { budgets.contains { $0.spending.spentUntil != nil } },
      reserving: { PolicyGroup.reserve($0, of: budgets) },
      releasing: { bytes, areMoved in
        for budget in budgets { budget.spending.release(bytes, areMoved: areMoved) }
      }, promised: { budgets.contains { $0.spending.isPromised } })
    look(now: now, overrides: nil)
  }

  /// What a hold says to a user; nil for holds that the network has no part in.
  func message(_ hold: Hold) -> String? { network.message(hold.reason, policy) }

  /// Brings rates and hold up to the moment.
  ///
  /// - Parameter overrides: what `haul limit` says in place of the policies.
  func look(now: Double, overrides: Bandwidth?) {
    for budget in budgets { budget.look(now: now) }
    if now < hoursKnown.lowerBound || now >= hoursKnown.upperBound {
      bandwidth = hours.bandwidth(at: now)
      opensAt = hours.isOpen(at: now) ? nil : hours.nextOpening(after: now) ?? .infinity
      hoursKnown = now..<max(now + 0.001, hours.nextChange(after: now) ?? .infinity)
    }
    down.set(overrides == nil ? bandwidth.download : .unlimited)
    up.set(overrides == nil ? bandwidth.upload : .unlimited)
    began -= max(0, lookedAt - now)
    lookedAt = now
    let deadline = policy.deadline.map { began + $0 }
    if let deadline, now >= deadline {
      hold = Hold(.deadline, until: nil)
    } else if let end = budgets.compactMap(\.spending.spentUntil).max() {
      hold = Hold(.budget, until: end)
    } else if let opensAt {
      hold = Hold(.window, until: opensAt.isFinite ? opensAt : nil)
    } else {
      hold = network.hold(policy).map { Hold($0, until: nil) }
    }
    mayLook = hold?.reason == .budget && opensAt == nil && network.hold(policy) == nil
    let moments = [
      hoursKnown.upperBound.isFinite ? hoursKnown.upperBound : nil, deadline.flatMap { $0 > now ? $0 : nil },
    ]
    nextLook = (moments.compactMap(\.self) + budgets.map(\.spending.end)).min()
  }

  var hasBudget: Bool { !budgets.isEmpty }

  /// What is left of a budget does not cover some transfer.
  var isShort: Bool { budgets.contains { $0.spending.isShort } }

  /// Puts bytes aside in all of them, or in none.
  private static func reserve(_ bytes: Int64, of budgets: [LedgerBudget]) -> Bool {
    for (index, budget) in budgets.enumerated() {
      guard !budget.spending.reserve(bytes) else { continue }
      for earlier in budgets[..<index] { earlier.spending.release(bytes, areMoved: false) }
      return false
    }
    return true
  }

  /// Records what was spent since the last call.
  func save() { for budget in budgets { budget.save() } }

  /// A share of failures means something once so many have ended.
  private static let leastEnded = 10

  /// Counts transfers that ended well.
  func count(standing: Int) { ended += standing }

  /// Counts how a transfer ended.
  ///
  /// - Returns: whether `fail_fast` ends the run.
  func count(_ state: TransferState) -> Bool {
    switch state {
    case .completed, .upToDate: ended += 1
    case .failed:
      ended += 1
      failed += 1
    case .queued, .running, .paused, .canceled, .skipped: return false
    }
    guard failed > 0 else { return false }
    if let most = policy.failFastFailures, failed >= most { return true }
    guard let share = policy.failFastShare, ended >= Self.leastEnded else { return false }
    return Double(failed) >= share * Double(ended)
  }
}
