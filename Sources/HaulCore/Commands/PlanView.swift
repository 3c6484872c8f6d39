import JobLedger
import JobModel
import LocalFiles

/// What lines of a plan are made with: the job's folder, what hosts were measured at, and settings by their profile.
final class PlanView {
  let folder: Folder
  let rates: [HostRate: Double]
  /// Chunk rules of profiles whose transfers need no look at anything; nil for the others.
  private var rules: [Int64: ChunkSize?] = [:]

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
}
