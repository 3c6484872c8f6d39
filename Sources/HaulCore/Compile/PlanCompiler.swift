import Digests
import Endpoints
import JobLedger
import JobModel
import Planner

/// Compiles a job into its ledger: all of it, or nothing where a fault is found.
enum PlanCompiler {
  struct Faulty: Error {
    var diagnostics: [Diagnostic]
  }

  struct Compiled {
    var change: PlanChange
    /// Warnings.
    var diagnostics: [Diagnostic]
    /// Local sources that are not there, by transfer id.
    var missing: [String]
    var missingCount: Int
    /// Transfers of the whole job, where the plan is a part's and all was listed.
    var whole: Int64?
    /// Why transfers could not be listed, by their ids: what is on record of them stays in the plan.
    var unlisted: [String: Failure] = [:]
  }

  /// Missing sources are named up to this many, and counted beyond.
  static let missingLimit = 100

  /// - Throws: `Faulty`; `LedgerError`; `Failure` where a remote prefix can't be listed.
  /// - Parameters:
  ///   - mark: what the plan is compiled from; nil where that can't be told.
  ///   - isKept: whether the ledger may say that it is compiled from that.
  ///   - state: folders in which a destination is an error; nil where that is left to its transfer.
  ///   - part: which transfers are kept, where that is not all.
  static func compile(
    _ job: Job, run: RunValues, mark: PlanFingerprint?, isKept: Bool = true, former: FormerIdentity?,
    into ledger: JobLedger, lister: PrefixLister?, sparing state: StateFolders? = nil, part: PartRule? = nil
  ) throws -> Compiled {
    if isKept, let mark = mark?.whole, let kept = try ledger.compiled(from: mark) {
      return Compiled(change: kept, diagnostics: [], missing: [], missingCount: 0)
    }
    // Before the transaction that the plan is written in: a kill keeps what was listed.
    let unlisted: [String: Failure]
    do { unlisted = try lister?.listAll(job, run: run) ?? [:] } catch let failure as Failure
      where !failure.code.isRetryable
    {
      // Once that is mended, the others are another day's.
      try ledger.forgetListings()
      throw failure
    }
    func compile(comparing: Bool) throws -> Compiled {
      try Self.compile(
        job, run: run, mark: mark, isKept: isKept, former: former, listed: lister, into: ledger,
        sparing: state, part: part, unlisted, comparing: comparing)
    }
    do {
      if former == nil, let rows = mark?.rows, try ledger.hasRows(from: rows),
        try state.map({ try !ledger.hasDestination(in: StateFolderCheck($0).holds) }) ?? true
      {
        do { return try compile(comparing: true) } catch is ComparedRows.Unlike {} catch is StaleRows {}
      }
      return try compile(comparing: false)
    } catch let faulty as Faulty {
      // What the fault lies in may be mended there: the next compile looks again.
      try ledger.forgetListings()
      throw faulty
    }
  }

  private static func compile(
    _ job: Job, run: RunValues, mark: PlanFingerprint?, isKept: Bool, former: FormerIdentity?,
    listed lister: PrefixLister?, into ledger: JobLedger, sparing state: StateFolders?, part: PartRule?,
    _ unlisted: [String: Failure], comparing: Bool
  ) throws -> Compiled {
    var compiled = Compiled(change: PlanChange(), diagnostics: [], missing: [], missingCount: 0)
    let change = try ledger.compile(
      from: { isKept && compiled.diagnostics.isEmpty ? mark?.whole : nil },
      rows: { isKept && compiled.diagnostics.isEmpty ? mark?.rows : nil }, whole: { compiled.whole },
      leaving: UnlistedFanOuts(
        unheard: Array(unlisted.keys),
        disabled: job.templates.filter { $0.fanOut != .single && $0.isDisabled }.map(\.id)),
      batches: { add in
        // Rows are read and put together on one core while the other stores them.
        compiled = try BoundedChannel<PlanBatch>.run(
          make: { give in
            try withoutActuallyEscaping(give) { (give) throws -> Compiled in
              let feed = PlanFeed(give)
              guard mark?.rows != nil else {
                return try expand(
                  job, run: run, former: former, lister: lister, sparing: state, part: part, unlisted, nil,
                  feed)
              }
              let rows = try ComparedRows(job, comparing ? { try ledger.rowMarks($0) } : nil) {
                try feed.keep($0)
              }
              let compiled = try expand(
                job, run: run, former: former, lister: lister, sparing: state, part: part, unlisted, rows,
                feed)
              try rows.settle(in: ledger, compiled.diagnostics)
              return compiled
            }
          }, use: add)
        if compiled.diagnostics.contains(where: { $0.severity == .error }) {
          throw Faulty(diagnostics: compiled.diagnostics)
        }
      })
    compiled.change = change
    return compiled
  }

  private static func expand(
    _ job: Job, run: RunValues, former: FormerIdentity?, lister: PrefixLister?, sparing state: StateFolders?,
    part: PartRule?, _ unlisted: [String: Failure], _ rows: ComparedRows?, _ feed: PlanFeed
  ) throws -> Compiled {
    let identity = try TransferKey(job)
    let oldIdentity = try former.map { _ in try TransferKey(job, .first) }
    var compiled = Compiled(change: PlanChange(), diagnostics: [], missing: [], missingCount: 0)
    var whole: Int64?
    compiled.diagnostics = try JobPlanner.expand(
      job, run: run, uuid: { uuid(job.name, $0) }, lister: lister?.list, state: state, part: part,
      known: rows, without: Set(unlisted.keys), counted: { whole = $0 }
    ) { transfer in
      if isMissing(transfer) {
        compiled.missingCount += 1
        if compiled.missing.count < missingLimit { compiled.missing.append(transfer.id) }
      }
      try rows?.note(transfer)
      let known = former?.holds(for: transfer) == true ? oldIdentity?.of(transfer) : nil
      try feed.add(transfer, identity: identity.of(transfer), former: known)
    }
    try feed.end()
    compiled.whole = unlisted.isEmpty ? whole : nil
    compiled.unlisted = unlisted
    compiled.diagnostics += job.templates.compactMap { template in
      unlisted[template.id].map { failure in
        Diagnostic(
          .warning,
          "`\(template.id)` could not be listed (\(failure.code.rawValue)), and what is on record of it is left as it is: \(failure.message)",
          at: template.mark, lineText: template.lineText,
          hint: failure.code.isRetryable ? "the next run lists it again" : failure.code.hint)
      }
    }
    return compiled
  }

  private static func isMissing(_ transfer: PlannedTransfer) -> Bool {
    // What another transfer is to bring is not missing yet.
    transfer.settings.direction == .upload && transfer.knownSize == nil && transfer.settings.isEnabled
      && transfer.settings.needs.isEmpty
  }

  /// Expands without keeping anything, for `check`.
  static func check(
    _ job: Job, run: RunValues, sparing state: StateFolders? = nil
  ) throws -> (transfers: Int, diagnostics: [Diagnostic]) {
    var count = 0
    let diagnostics = try JobPlanner.expand(job, run: run, uuid: { uuid(job.name, $0) }, state: state) { _ in
      count += 1
    }
    return (count, diagnostics)
  }

  /// A UUID that is fixed for a transfer (RFC 9562, version 8: our own digest).
  static func uuid(_ job: String, _ id: String) -> String {
    guard let bytes = try? Digest.bytes(of: Array("\(job)\0\(id)".utf8), .sha256) else { return id }
    return Hex.uuid(bytes, version: 8)
  }
}
