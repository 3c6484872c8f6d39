import Endpoints
import Glibc
import JobLedger
import JobManifest
import JobModel
import LocalFiles
import Posix
import Preview
import Reporting
import TransferEngine

/// What the next `haul run` would do, compared with what is on record. Nothing of the job's state changes.
struct PlanPreview: Sendable {
  let job: Job
  /// The manifest's plan: compiled apart, or the recorded one where that is compiled from the same.
  let plan: JobLedger
  /// Empty, or the plan of the manifest: what probes and listings are to keep goes there.
  let draft: PlanDraft
  /// nil for a job that has no state yet.
  let recorded: JobLedger?
  let isNewRun: Bool
  /// Warnings of reading and compiling.
  let diagnostics: [Diagnostic]

  /// - Throws: `End`, with the diagnostics printed.
  static func open(
    _ file: ManifestFile, given: [String: String], state: StateFolder, adopt: Bool, reports: ReportSink
  ) throws -> PlanPreview {
    var read = file.read(overrides: given)
    let named = file.jobName ?? read.readable?.name
    guard let name = named, read.job != nil || state.exists(name) else {
      throw try JobOpening.refuse(file, JobOpening.withRows(read, sparing: state), reports)
    }
    do {
      let recorded = state.exists(name) ? try state.openSettled(name) : nil
      let continued = try recorded?.lastRun().flatMap { $0.isContinued(by: nil) ? $0 : nil }
      let overrides = try JobOpening.overrides(given, of: continued)
      if overrides != given { read = file.read(overrides: overrides) }
      guard let job = read.job else {
        throw PlanCompiler.Faulty(diagnostics: JobOpening.withRows(read, sparing: state).diagnostics)
      }
      if let recorded,
        let takenOver = try JobOpening.checkOwner(
          job, recorded, file, adopt: adopt, reports.context.environment)
      {
        read.diagnostics.append(takenOver)
      }
      let now = SystemClock.now
      let values = RunValues(
        id: continued?.id ?? ULID.make(now: now), date: Timestamp.date(continued?.startedAt ?? now))
      let draft = try PlanDraft(state)
      let mark = PlanFingerprint.of(job, file: file, read: read, overrides: overrides, run: values)
      let folders = state.folders(for: job)
      if let mark, let recorded, try recorded.compiled(from: mark) != nil {
        if let folders {
          // What `run` has compiled holds these, too: each fails by itself there.
          let found = try PlanCompiler.check(job, run: values, sparing: folders).diagnostics
          guard found.allSatisfy({ $0.severity != .error }) else {
            throw PlanCompiler.Faulty(diagnostics: found)
          }
        }
        return PlanPreview(
          job: job, plan: recorded, draft: draft, recorded: recorded, isNewRun: continued == nil,
          diagnostics: read.diagnostics)
      }
      // A token that a server exchanges for another outlives the draft.
      let lister = try PrefixLister(
        job, stateFolder: draft.folder, tokensIn: state.folder(name), ledger: draft.ledger, reports.context)
      defer { lister?.shutDown() }
      let former = try recorded.flatMap {
        try FormerIdentity(
          job, $0, manifest: file.sha256, overrides: overrides,
          dependsOnEnvironment: !read.environment.isEmpty)
      }
      let compiled = try PlanCompiler.compile(
        job, run: values, mark: nil, former: former, comparedWith: recorded, into: draft.ledger,
        lister: lister, sparing: folders)
      return PlanPreview(
        job: job, plan: draft.ledger, draft: draft, recorded: recorded, isNewRun: continued == nil,
        diagnostics: read.diagnostics + compiled.diagnostics)
    } catch { throw try JobOpening.end(error, file, read, reports) }
  }

  /// Gives each transfer of the manifest with what a run would do with it.
  func each(_ prober: Prober?, _ body: (PlanLine) throws -> Void) async throws {
    let folder = try Folder.open(job.directory)
    let rates = try recorded?.hostRates(now: SystemClock.now) ?? [:]
    var last: Int64 = 0
    while true {
      let page = try plan.page(after: last, onlyTouched: false, limit: 256)
      guard let end = page.last else { return }
      last = end.seq
      for (planned, match) in zip(page, try matches(page)) {
        var transfer = planned
        if case .same(let known) = match {
          (transfer.state, transfer.progress, transfer.hasChunks) = (
            known.state, known.progress, known.hasChunks
          )
        }
        var remote: RemoteObject?
        var trouble: String?
        if let prober, transfer.settings.direction == .download {
          do { remote = try await prober.probe(transfer) } catch let failure as Failure {
            trouble = failure.code.rawValue
          }
        }
        let preview = TransferPreview.of(
          transfer, folder: folder, endpoints: job.endpoints, remote: remote, rates: rates, isNewRun: isNewRun
        )
        try body(line(transfer, match, preview, trouble))
      }
    }
  }

  /// What the manifest no longer has: how many, and the first ids.
  func gone(limit: Int) throws -> (count: Int, ids: [String]) {
    guard let recorded, recorded !== plan else { return (0, []) }
    return try recorded.absent(in: plan, limit: limit)
  }

  private func matches(_ page: [LedgerTransfer]) throws -> [PlanMatch] {
    guard let recorded else { return page.map { _ in .none } }
    return recorded === plan ? page.map { .same($0) } : try plan.matches(page, in: recorded)
  }

  private func line(
    _ transfer: LedgerTransfer, _ match: PlanMatch, _ preview: TransferPreview, _ trouble: String?
  ) -> PlanLine {
    var action: PlanLine.Action =
      switch preview.action {
      case .transfer: trouble == nil ? .transfer : .unknown
      case .upToDate: .upToDate
      case .resume: .resume
      case .skip: .skip
      case .unknown: .unknown
      }
    var (change, why) = change(transfer, match, preview)
    if case .same(let known) = match, action == .upToDate, known.expect != transfer.expect,
      let demand = newDemand(transfer)
    {
      (action, change, why) = (demand.action, .changed, demand.why)
    }
    var line = PlanLine(
      id: transfer.id, direction: transfer.settings.direction, source: transfer.source,
      destination: transfer.destination,
      protocolName: RemotePlace.driver(transfer.remote, job.endpoints).word, size: preview.size,
      chunkSize: preview.chunkSize, chunks: preview.chunks, action: action,
      reason: trouble ?? why ?? preview.reason,
      isResumable: preview.isResumable, isParallel: preview.isParallel, verifiedBy: preview.verifiedBy)
    line.change = change
    line.policy = transfer.settings.policy
    line.policyName = transfer.settings.policyName
    if preview.action == .resume, let chunk = preview.chunkSize {
      line.present = min(preview.size ?? 0, Int64(transfer.progress.chunksCompleted) * chunk)
    }
    return line
  }

  private func change(
    _ transfer: LedgerTransfer, _ match: PlanMatch, _ preview: TransferPreview
  ) -> (PlanLine.Change, why: String?) {
    switch match {
    case .none: return (preview.action == .skip ? .held : .new, nil)
    case .other: return (.changed, "another source, destination or endpoint: it starts anew")
    case .same: break
    }
    switch preview.action {
    case .upToDate: return (.upToDate, nil)
    case .skip: return (.held, nil)
    case .transfer, .resume, .unknown: break
    }
    if transfer.progress.completedAt != nil { return (.changed, nil) }
    let wasTried = transfer.progress.failedAt != nil || transfer.hasProgress || transfer.state != .queued(nil)
    guard wasTried else { return (.new, nil) }
    // What stands in its way now says more than what did.
    return (.again, preview.reason ?? transfer.progress.failure?.code.rawValue ?? transfer.state.reason)
  }

  /// What a new expectation means for a completed transfer; nil where its recorded digests meet it.
  private func newDemand(_ transfer: LedgerTransfer) -> (action: PlanLine.Action, why: String)? {
    let (expect, progress) = (transfer.expect, transfer.progress)
    let differs = expect.digests.contains {
      progress.digests[$0.key].map { [value = $0.value] in $0 != value } ?? false
    }
    if differs || expect.size.map({ $0 != progress.size }) ?? false {
      return (.transfer, "the manifest expects other bytes")
    }
    let isKnown = expect.digests.keys.allSatisfy { progress.digests[$0] != nil }
    return isKnown ? nil : (.unknown, "a new expectation is checked on the bytes at hand")
  }
}
