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
  /// By profile, what it needs and the manifest disables.
  private var disabledNeeds: [Int64: String?] = [:]

  /// What all transfers of a profile share.
  private struct Rule {
    /// Nil where what a run would do with a transfer that nothing was begun for depends on more than its row: a local file, a
    /// host's rate.
    var chunkSize: ChunkSize?
    /// Downloads that are done are up to date where their files are as they were left.
    var isProvedByFile: Bool
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
    let needs = transfer.settings.needs
    guard !needs.isEmpty else { return nil }
    if let known = disabledNeeds[transfer.profile] { return known }
    var found: String?
    for need in needs where found == nil { found = try plan.disabled(need, of: transfer.profile) }
    if disabledNeeds.count >= Self.mostKept { disabledNeeds.removeAll() }
    disabledNeeds.updateValue(found, forKey: transfer.profile)
    return found
  }

  private static let shares = 8
  private static let mostKept = 1024

  private func rule(of profile: Int64, in plan: JobLedger) throws -> Rule {
    if let known = rules[profile] { return known }
    var rule = Rule(chunkSize: nil, isProvedByFile: false)
    if let settings = try plan.settings(of: profile), settings.direction == .download,
      settings.needs.isEmpty
    {
      let isFixed = settings.chunkSize != .auto || rates.isEmpty
      rule.chunkSize = settings.ifExists == .replace && isFixed ? settings.chunkSize : nil
      rule.isProvedByFile = settings.then == nil && settings.refresh != .always
    }
    // Rows that each say something of their own must not fill the memory.
    if rules.count >= Self.mostKept { rules.removeAll() }
    rules[profile] = rule
    return rule
  }
}
