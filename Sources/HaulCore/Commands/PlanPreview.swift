import Endpoints
import Glibc
import HTTPClient
import JobLedger
import JobManifest
import JobModel
import LocalFiles
import Planner
import Posix
import Preview
import Reporting

/// What the next `haul run` would do, compared with what is on record. Nothing of the job's state changes.
struct PlanPreview: Sendable {
  let job: Job
  /// The manifest's plan: the recorded or kept one where that is compiled from the same, else the draft.
  let plan: JobLedger
  /// What probes and listings are to keep goes there.
  let draft: PlanDraft
  /// nil for a job that has no state yet.
  let recorded: JobLedger?
  let isNewRun: Bool
  /// Warnings of reading and compiling.
  let diagnostics: [Diagnostic]
  /// What the manifest no longer has.
  let gone: LeftManifest
  /// Ids of fan-outs that may not be listed: what they would bring is not in the plan.
  private(set) var refused: [String] = []
  /// Rows of the plan behind this one are new in it; the others are as they are on record, but for `adjusted`.
  private let lastKnown: Int64
  private let adjusted: RowSet
  private let resized: RowSet
  /// Where it is held until all is shown.
  private let kept: KeptPlan?

  /// - Throws: `End`, with the diagnostics printed.
  static func open(
    _ file: ManifestFile, given: [String: String], state: StateFolder, adopt: Bool, reports: ReportSink
  ) throws -> PlanPreview {
    var manifest = try OpenedManifest(file, given: given, state, sparing: state, reports)
    let name = manifest.name
    do {
      let recorded = state.exists(name) ? try state.openSettled(name) : nil
      let continued = try recorded?.lastRun().flatMap { $0.isContinued(by: nil) ? $0 : nil }
      let job = try manifest.job(recorded, continuing: continued, adopt: adopt)
      let now = SystemClock.now
      let values = RunValues(
        id: continued?.id ?? ULID.make(now: now), startedAt: continued?.startedAt ?? now)
      let mark = manifest.mark(job, values)
      let remarks = job.remarks(on: state.shard, isOwn: false)
      let folders = state.folders(for: job)
      let kept = recorded == nil ? KeptPlan(of: name, state) : nil
      let base = recorded ?? kept?.ledger
      if let compiledFrom = mark?.whole, let base, try base.compiled(from: compiledFrom) != nil {
        if let folders, try base.hasDestination(in: StateFolderCheck(folders).holds) {
          // What `run` has compiled holds these, too: each fails by itself there.
          let found = try PlanCompiler.check(job, run: values, sparing: folders).diagnostics
          guard found.allSatisfy({ $0.severity != .error }) else {
            throw PlanCompiler.Faulty(diagnostics: found)
          }
        }
        return try PlanPreview(
          job: job, plan: base, draft: PlanDraft(state), recorded: recorded, isNewRun: continued == nil,
          diagnostics: manifest.read.diagnostics + remarks, gone: LeftManifest(), lastKnown: .max,
          adjusted: RowSet(), resized: RowSet(), kept: kept)
      }
      let draft = try PlanDraft(state, from: base)
      let lastKnown = try recorded == nil ? 0 : draft.ledger.lastRow()
      // A token that a server exchanges for another outlives the draft.
      let lister = try PrefixLister(
        job, stateFolder: draft.folder, tokensIn: state.folder(name), ledger: draft.ledger, reports.context)
      defer { lister?.shutDown() }
      let former = try recorded.flatMap { try manifest.former(job, $0) }
      let compiled = try PlanCompiler.compile(
        job, run: values, mark: mark, isKept: recorded == nil, former: former, into: draft.ledger,
        lister: lister, sparing: folders, part: state.shard.map { PartRule(job, $0) })
      if recorded == nil { try draft.ledger.forgetRetired() }
      var preview = PlanPreview(
        job: job, plan: draft.ledger, draft: draft, recorded: recorded, isNewRun: continued == nil,
        diagnostics: manifest.read.diagnostics + compiled.diagnostics + remarks,
        gone: recorded == nil ? LeftManifest() : compiled.change.left, lastKnown: lastKnown,
        adjusted: compiled.change.adjustedRows, resized: compiled.change.resizedRows, kept: nil)
      preview.refused = compiled.unlisted.filter { !$0.value.code.isRetryable }.keys.sorted()
      return preview
    } catch { throw try JobOpening.end(error, file, manifest.read, reports) }
  }

  /// Keeps what was compiled for the next `plan`, or the first run, of a job that has never run.
  func keep(_ state: StateFolder) throws {
    guard recorded == nil, plan === draft.ledger, try plan.meta("compiled_from") != nil else { return }
    KeptPlan.keep(draft, of: job.name, state)
  }

  /// Gives each transfer of the manifest with what a run would do with it.
  func each(_ prober: Prober?, _ body: (PlanLine) throws -> Void) async throws {
    let view = try view()
    var last: Int64 = 0
    while true {
      let page = try plan.page(after: last, onlyTouched: false, limit: Self.page)
      guard let end = page.last else { return }
      last = end.seq
      try await lines(of: page, view, prober, body)
    }
  }

  /// Adds the plan to a text. Of a million transfers few are looked at one by one: what is done is counted where its file
  /// stands, and beyond the lines that are shown so is what nothing was begun for.
  func add(to text: PlanText) async throws {
    let view = try view()
    // A page is read while the files of the one before are looked at.
    let read = { @Sendable [plan] (last: Int64) in try plan.outline(after: last, limit: Self.outline) }
    var rows = try read(0)
    while let last = rows.last?.seq {
      let next = rows.count == Self.outline ? Future { try read(last) } : nil
      // Where all is shown, nothing is only counted.
      let isInPlace =
        text.showsAll || recorded == nil
        ? nil : try view.inPlace(rows.map { isAsRecorded($0) ? $0 : nil }, in: plan)
      var rest = rows[...]
      while let first = rest.first {
        if try count(first, in: text, view, isInPlace: isInPlace?[rest.startIndex] ?? false) {
          rest.removeFirst()
          continue
        }
        let isFull = text.isFull
        let stop = try rest.indices.dropFirst().prefix(Self.page - 1).first {
          try isInPlace?[$0] ?? false || isFull && chunkSize(ofNew: rest[$0], view) != nil
        }
        let run = rest[..<(stop ?? min(rest.endIndex, rest.startIndex + Self.page))]
        let page = try plan.page(after: first.seq - 1, onlyTouched: false, limit: run.count)
        try await lines(of: page, view, nil) { try text.add($0) }
        rest = rest.dropFirst(run.count)
      }
      rows = try next?.value() ?? []
    }
  }

  /// Counts a transfer that is not shown, where its row says what a run would do.
  private func count(
    _ row: TransferOutline, in text: PlanText, _ view: PlanView, isInPlace: Bool
  ) throws -> Bool {
    if text.isFull, let chunkSize = try chunkSize(ofNew: row, view) {
      text.count(newOf: row.size, chunkSize: chunkSize)
      return true
    }
    guard isInPlace, let settled = row.settled else { return false }
    text.count(upToDate: settled.size, chunkSize: settled.chunkSize)
    return true
  }

  private static let page = 256
  private static let outline = 4096

  private func view() throws -> PlanView {
    PlanView(
      folder: try Folder.open(job.directory), rates: try recorded?.hostRates(now: SystemClock.now) ?? [:])
  }

  /// The chunk size of a transfer to run, of which nothing is on record; nil for those that have to be looked at.
  private func chunkSize(ofNew row: TransferOutline, _ view: PlanView) throws -> ChunkSize? {
    try row.isUntouched && (recorded == nil || isAsRecorded(row)) ? view.chunkSize(of: row, in: plan) : nil
  }

  private func isAsRecorded(_ row: TransferOutline) -> Bool {
    row.seq <= lastKnown && !adjusted.contains(row.seq) && !resized.contains(row.seq)
  }

  private func lines(
    of page: [LedgerTransfer], _ view: PlanView, _ prober: Prober?, _ body: (PlanLine) throws -> Void
  ) async throws {
    for planned in page {
      let match = try match(planned)
      var transfer = planned
      if case .same(let known) = match {
        (transfer.state, transfer.progress, transfer.hasChunks) = (
          known.state, known.progress, known.hasChunks
        )
      }
      var word = ServerWord()
      if let prober { word = try await ask(prober, transfer) }
      if transfer.settings.direction.readsRemote, resized.contains(transfer.seq) {
        word.listedSize = transfer.knownSize
      }
      let preview = TransferPreview.of(
        transfer, folder: view.folder, endpoints: job.endpoints, word: word, rates: view.rates,
        isNewRun: isNewRun, disabledNeed: try view.disabledNeed(of: transfer, in: plan),
        wrote: { (try? plan.wrote($0, at: $1)) ?? false })
      try body(line(transfer, match, preview))
    }
  }

  /// Asks for what a run would ask for: the source, and where something was put, the destination.
  private func ask(_ prober: Prober, _ transfer: LedgerTransfer) async throws -> ServerWord {
    var word = ServerWord()
    let settings = transfer.settings
    guard settings.isEnabled else { return word }
    do {
      if settings.direction.readsRemote {
        word.source = try await prober.probe(
          transfer.source, settings: settings.direction == .copy ? settings.ofSource : settings)
      }
      let (progress, remote) = (transfer.progress, transfer.progress.remote)
      guard settings.direction.writesRemote, progress.completedAt != nil else { return word }
      let file = UploadedFile(remoteID: progress.remoteID, version: remote.version, etag: remote.etag)
      word.destination = try await prober.look(for: file, at: transfer.destination, settings: settings).found
      if case .failed(let failure)? = word.destination { word.trouble = failure.code }
    } catch let failure as Failure {
      word.trouble = failure.code
    }
    return word
  }

  /// What is on record for a transfer of the plan.
  private enum Match {
    /// Nothing under its id.
    case none
    /// Another transfer under its id: another source, destination or endpoint.
    case other
    case same(LedgerTransfer)
  }

  private func match(_ planned: LedgerTransfer) throws -> Match {
    guard let recorded else { return .none }
    guard planned.seq <= lastKnown else { return try recorded.has(planned.id) ? .other : .none }
    guard adjusted.contains(planned.seq) else { return .same(planned) }
    let known = try recorded.transfer(planned.seq) ?? planned
    let isElsewhere = known.destination.isElsewhere(than: planned.destination)
    return isElsewhere && planned.settings.direction.writesRemote ? .other : .same(known)
  }

  private func line(
    _ transfer: LedgerTransfer, _ match: Match, _ preview: TransferPreview
  ) throws -> PlanLine {
    var action = preview.action
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
      reason: (action == .unknown ? preview.reason : nil) ?? why ?? preview.reason,
      isResumable: preview.isResumable, isParallel: preview.isParallel, verifiedBy: preview.verifiedBy)
    line.change = change
    line.policy = transfer.settings.policy
    line.policyName = transfer.settings.policyName
    line.then = transfer.settings.then?.written
    if preview.action == .resume {
      line.present = min(preview.size ?? 0, try plan.heldBytes(of: transfer.seq))
    }
    return line
  }

  private func change(
    _ transfer: LedgerTransfer, _ match: Match, _ preview: TransferPreview
  ) -> (PlanLine.Change, why: String?) {
    switch match {
    case .none: return (preview.action == .skip ? .held : .new, nil)
    case .other: return (.changed, "another source, destination or endpoint: it starts anew")
    case .same: break
    }
    switch preview.action {
    case .upToDate: return (.upToDate, nil)
    case .skip: return (.held, nil)
    case .attach where transfer.progress.isAttaching:
      return (.again, preview.reason ?? transfer.progress.failure?.code.rawValue ?? transfer.state.reason)
    case .transfer, .resume, .attach, .unknown: break
    }
    if transfer.progress.completedAt != nil {
      switch (preview.action, transfer.state) {
      case (.unknown, .failed), (.unknown, .paused): return (.again, nil)
      case (.unknown, _), (.transfer, _), (.upToDate, _), (.resume, _), (.attach, _), (.skip, _):
        return (.changed, nil)
      }
    }
    let wasTried = transfer.progress.failedAt != nil || transfer.hasProgress || transfer.state != .queued(nil)
    guard wasTried else {
      // As the run reports it (`asked`).
      let isAsked = transfer.progress.movedBecause == .asked
      return isAsked ? (.again, preview.reason ?? "`retry --from-scratch`") : (.new, nil)
    }
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
