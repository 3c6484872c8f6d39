import Dispatch
import JobLedger
import JobModel
import LocalFiles
import Locks

/// What lines of a plan are made with: the job's folder, what hosts were measured at, and settings by their profile.
final class PlanView {
  let folder: Folder
  let rates: [HostRate: Double]
  private var rules: [Int64: Rule] = [:]

  /// What all transfers of a profile share.
  private struct Rule {
    /// Nil where what a run would do with a transfer that nothing was begun for depends on more than its row: a local file, a
    /// host's rate.
    var chunkSize: ChunkSize?
    /// Downloads that are done are up to date where their files are as they were left.
    var isProvedByFile: Bool
    /// The disabled transfer that all of the profile need; nil where they need none.
    var disabledNeed: String?
  }

  init(folder: Folder, rates: [HostRate: Double]) {
    self.folder = folder
    self.rates = rates
  }

  /// The chunk size of a transfer that nothing was begun for; nil where it has to be looked at.
  func chunkSize(of row: TransferOutline, in plan: JobLedger) throws -> ChunkSize? {
    try rule(of: row.profile, in: plan).chunkSize
  }

  /// Which of these transfers are downloads that are done and have their files as they were left, so that they are up to
  /// date; false where that depends on more. The looks at a million files take the time, so that all cores share them.
  func inPlace(_ rows: [TransferOutline?], in plan: JobLedger) throws -> [Bool] {
    let asked = try rows.map { row -> SettledOutline? in
      guard let row, let settled = row.settled else { return nil }
      return try rule(of: row.profile, in: plan).isProvedByFile ? settled : nil
    }
    guard asked.contains(where: { $0 != nil }) else { return Array(repeating: false, count: rows.count) }
    let (folder, share) = (folder, (rows.count + Self.shares - 1) / Self.shares)
    let found = Locked(Array(repeating: [Bool](), count: Self.shares))
    DispatchQueue.concurrentPerform(iterations: Self.shares) { part in
      let answers = asked.dropFirst(part * share).prefix(share).map { settled in
        guard let settled, let now = try? folder.facts(settled.path) else { return false }
        return now.size == settled.fileSize && now.mtime == settled.mtime
      }
      found.withLock { $0[part] = answers }
    }
    return found.withLock { Array($0.joined()) }
  }

  /// The disabled transfer that this one needs; nil where it needs none.
  func disabledNeed(of transfer: LedgerTransfer, in plan: JobLedger) throws -> String? {
    try rule(of: transfer.profile, in: plan).disabledNeed
  }

  private static let shares = 8

  private func rule(of profile: Int64, in plan: JobLedger) throws -> Rule {
    if let known = rules[profile] { return known }
    var rule = Rule(chunkSize: nil, isProvedByFile: false)
    let settings = try plan.settings(of: profile)
    for need in settings?.needs ?? [] where rule.disabledNeed == nil {
      rule.disabledNeed = try plan.disabled(need, of: profile)
    }
    if let settings, settings.direction == .download, rule.disabledNeed == nil {
      let isFixed = settings.chunkSize != .auto || rates.isEmpty
      rule.chunkSize = settings.ifExists == .replace && isFixed ? settings.chunkSize : nil
      rule.isProvedByFile = settings.then == nil && settings.refresh != .always
    }
    // Rows that each say something of their own must not fill the memory.
    if rules.count >= 1024 { rules.removeAll() }
    rules[profile] = rule
    return rule
  }
}
