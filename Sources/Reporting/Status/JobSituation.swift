package import JobLedger
package import JobModel

/// What a job does now: what is in flight, what waits and for what, and what comes next.
///
/// As large as the kinds of waiting are many, however many transfers wait.
package struct JobSituation: Sendable {
  /// Transfers that wait for the same.
  struct Waiting: Sendable, Hashable {
    var state: TransferState
    /// The policy, the server or the transfer that they wait for; nil where none is told.
    var subject: String?
    var count: Int
    /// The first of them.
    var ids: [String] = []
    /// When the wait ends, seconds since 1970; nil where no time is set.
    var until: Double?
  }

  /// What the clock brings.
  struct Coming: Sendable, Hashable {
    enum Event: String, Sendable {
      case windowOpens = "window_opens"
      case budgetBegins = "budget_begins"
      case cooldownEnds = "cooldown_ends"
      case hostIsAsked = "host_is_asked"
    }
    /// Seconds since 1970.
    var at: Double
    var event: Event
    var subject: String?
  }

  /// When it was looked at, seconds since 1970.
  let at: Double
  /// A runner works on the job.
  let isRunning: Bool
  let standing: PlanStanding
  let sums: TransferSums
  /// Those that began first.
  let inFlight: [InFlight]
  /// The largest first.
  let waiting: [Waiting]
  /// The next first.
  let next: [Coming]
  /// What failed, or waits after a failure; only what waits where no causes are shown.
  let causes: CauseList
  /// Bytes that are left of the budget in the job's `limits`.
  let budgetLeft: Int64?
  /// Body bytes a second; nil where the job is looked at once.
  package var rate: Double?

  private static let inFlightLimit = 8
  /// Groups by settings that are told apart; what else waits is told by its reason alone.
  private static let groupLimit = 64
  /// Groups whose `needs` are looked up, each in the whole plan.
  private static let needsLimit = 16
  private static let waitingLimit = 20
  private static let comingLimit = 8

  /// - Parameters:
  ///   - now: seconds since 1970.
  ///   - showsCauses: false for JSON, which has them elsewhere: of very many failures they take long.
  ///   - zone: gives a policy's zone.
  /// - Throws: `LedgerError`.
  package init(
    _ head: ReportHead, _ ledger: JobLedger, isRunning: Bool, now: Double, showsCauses: Bool = true,
    zone: (String?) -> CivilZone
  ) throws {
    (at, self.isRunning) = (now, isRunning)
    standing = try ledger.standing()
    sums = try ledger.sums()
    inFlight = try standing.counts.running > 0 ? ledger.inFlight(limit: Self.inFlightLimit) : []
    let cooldowns = try ledger.cooldowns(now: now, limit: Self.comingLimit)
    causes = try CauseList(
      ledger, standing.counts, of: showsCauses ? .failures : .retries, describe: head.describe)
    budgetLeft = try head.limits.budget.map { budget in
      let period = BudgetPeriod(budget.period, at: now, zone: zone(nil))
      return max(0, budget.bytes - (try ledger.spent(policy: Budget.jobName, period: period.name)))
    }
    let coolingDown = Dictionary(cooldowns.map { ($0.origin, $0.until) }) { $1 }
    let after = causes.groups.filter { $0.tally.cause.code.isEmpty && $0.first.state == .paused(.retries) }
      .map { group in
        let host = head.describe(group.first).url.flatMap(URLHost.origin(of:))
        return Waiting(
          state: .paused(.retries), subject: host, count: group.tally.count, ids: group.tally.ids,
          until: host.flatMap { coolingDown[$0] })
      }
    waiting = (try Self.waiting(head, ledger, standing) + after).sorted { $0.count > $1.count }
    let policies = waiting.compactMap { waiting -> Coming? in
      guard let until = waiting.until else { return nil }
      switch waiting.state {
      case .paused(.window): return Coming(at: until, event: .windowOpens, subject: waiting.subject)
      case .paused(.budget): return Coming(at: until, event: .budgetBegins, subject: waiting.subject)
      default: return nil
      }
    }
    let hosts = head.hosts.compactMap { host in
      host.until.flatMap { $0 > now ? Coming(at: $0, event: .hostIsAsked, subject: host.host) : nil }
    }
    let ends = cooldowns.map { Coming(at: $0.until, event: .cooldownEnds, subject: $0.origin) }
    next = Array((policies + ends + hosts).sorted { $0.at < $1.at }.prefix(Self.comingLimit))
  }

  private static func waiting(
    _ head: ReportHead, _ ledger: JobLedger, _ standing: PlanStanding
  ) throws -> [Waiting] {
    var found: [(waiting: Waiting, groups: [WaitingGroup])] = []
    var rest = Dictionary(
      standing.pausedReasons.compactMap { word, count in
        TransferState(word: "paused", reason: word).map { ($0, count) }
      }, uniquingKeysWith: +)
    rest[.queued(nil)] = standing.counts.queued
    var lookedUp = 0
    for group in try ledger.waitingGroups(limit: groupLimit) {
      var one = Waiting(state: group.state, count: group.count)
      switch group.state {
      // Told with their failures, or with the server that they wait for.
      case .paused(.retries), .paused(.disk): continue
      case .paused(.window), .paused(.budget), .paused(.deadline), .paused(.interface), .paused(.metered):
        one.subject = group.settings.policyName
        one.until = head.resumesAt(group.state, group.settings.policy)
      case .queued(.failFast): break
      case .queued:
        one.state = .queued(nil)
        guard !group.settings.needs.isEmpty, lookedUp < needsLimit else { break }
        lookedUp += 1
        if let obstacle = try obstacle(group, ledger) {
          (one.state, one.subject) = (.queued(.needs(obstacle)), obstacle)
        }
      default: break
      }
      rest[restKey(group.state), default: 0] -= group.count
      let same = found.firstIndex { known, _ in
        (known.state, known.subject, known.until) == (one.state, one.subject, one.until)
      }
      if let same {
        found[same].waiting.count += one.count
        found[same].groups.append(group)
      } else {
        found.append((one, [group]))
      }
    }
    for (state, count) in rest where count > 0 && ![.paused(.retries), .paused(.disk)].contains(state) {
      if let same = found.firstIndex(where: { $0.waiting.state == state && $0.waiting.subject == nil }) {
        found[same].waiting.count += count
      } else {
        found.append((Waiting(state: state, count: count), []))
      }
    }
    found.sort { ($1.waiting.count, $0.waiting.state.word) < ($0.waiting.count, $1.waiting.state.word) }
    return try found.prefix(waitingLimit).map { one, groups in
      var one = one
      for group in groups where one.ids.count < CauseTally.named {
        one.ids += try ledger.ids(of: group, limit: CauseTally.named - one.ids.count)
      }
      return one
    }
  }

  /// The transfer that a group waits for; nil where nothing is in its way.
  private static func obstacle(_ group: WaitingGroup, _ ledger: JobLedger) throws -> String? {
    for need in group.settings.needs {
      if let obstacle = try ledger.obstacle(to: need, of: group.profile) { return obstacle.id }
    }
    return nil
  }

  private static func restKey(_ state: TransferState) -> TransferState {
    if case .queued = state { .queued(nil) } else { state }
  }

  /// Body bytes that crossed the network in the run.
  package var moved: Int64 { sums.transferred }

  /// Bytes that are there, those in flight included.
  var bytesThere: Int64 { standing.doneBytes.adding(clamping: standing.recordedBytes) }

  /// Of the planned bytes; nil where a size is unknown.
  var share: Double? {
    guard standing.unknownSizes == 0, standing.plannedBytes > 0 else { return nil }
    return min(1, Double(bytesThere) / Double(standing.plannedBytes))
  }

  /// Seconds; nil where nobody can tell.
  var timeLeft: Double? {
    guard isRunning, let rate, rate >= 1, standing.unknownSizes == 0 else { return nil }
    return Double(max(0, standing.plannedBytes - bytesThere)) / rate
  }
}
