import Dispatch
import JobLedger
import JobModel
import LocalFiles
import Locks

/// What lines of a plan are made with: the job's folder, what hosts were measured at, and settings by their profile.
final class PlanView {
  let folder: Folder
  let rates: [HostRate: Double]
  /// Chunk rules of profiles whose transfers need no look at anything; nil for the others.
  private var rules: [Int64: ChunkSize?] = [:]
  /// Profiles of downloads that are up to date where their file is as it was left.
  private var stands: [Int64: Bool] = [:]

  init(folder: Folder, rates: [HostRate: Double]) {
    self.folder = folder
    self.rates = rates
  }

  /// The chunk size of a transfer that nothing was begun for; nil where that, or what a run would do with it, depends on
  /// more than its row: a local file, a host's rate.
  func chunkSize(of row: TransferOutline, in plan: JobLedger) throws -> ChunkSize? {
    if let known = rules[row.profile] { return known }
    let settings = try plan.settings(of: row.profile)
    let rule = settings.flatMap { settings -> ChunkSize? in
      let isPlain = settings.direction == .download && settings.ifExists == .replace
      return isPlain && (settings.chunkSize != .auto || rates.isEmpty) ? settings.chunkSize : nil
    }
    // Rows that each say something of their own must not fill the memory.
    if rules.count >= 1024 { rules.removeAll() }
    rules[row.profile] = rule
    return rule
  }

  /// Which of these downloads are done and their files as they were left, so that they are up to date; not those where
  /// that depends on more. A million looks at files take the time, so that all cores share them.
  func inPlace(_ rows: [TransferOutline], in plan: JobLedger) throws -> [Bool] {
    let asked = try rows.map { try stands($0.profile, in: plan) ? $0.settled : nil }
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

  private static let shares = 8

  private func stands(_ profile: Int64, in plan: JobLedger) throws -> Bool {
    if let known = stands[profile] { return known }
    let settings = try plan.settings(of: profile)
    let answer =
      settings.map { $0.direction == .download && $0.then == nil && $0.refresh != .always } ?? false
    if stands.count >= 1024 { stands.removeAll() }
    stands[profile] = answer
    return answer
  }
}
