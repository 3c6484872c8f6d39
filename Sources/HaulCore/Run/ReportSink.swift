import Endpoints
import Glibc
import JobLedger
import JobManifest
import JobModel
import Posix
import Reporting
import TimeZones

/// Where a run's report goes: its job's folder, the files that were asked for, and standard output.
struct ReportSink: Sendable {
  /// `--report` and `--metrics`.
  let targets: [ReportTarget]
  /// `--json`.
  let json: Bool
  /// What `--json` of `plan` says of a job without a plan is shaped like a plan.
  let isPlan: Bool
  let state: StateFolder
  let context: CommandContext
  /// The id of a run that never begins.
  let id = ULID.make(now: SystemClock.now)
  private struct EarlyReport {
    var head: ReportHead
    /// The job whose metrics these are; nil where nothing tells it.
    var job: String?

    /// Another runner has the job, and that is no failure.
    var isSkipped: Bool { head.outcome == .refused && head.exitCode == 0 }
  }
  /// The report of a run that never began, or whose state was lost amid it.
  private let early = OnceValue<EarlyReport>()
  /// The files that it was written to.
  private let earlyFiles = OnceValue<[String: FileMark]>()
  /// The files as they were when the run began.
  private let filesBefore = OnceValue<[String: FileMark]>()
  private let wroteEarly = OnceValue<Void>()

  /// The first file that was asked for, absolute; nil where there is none.
  var shown: String? {
    targets.first { $0.path != "-" && $0.form != .prometheus }.map { Paths.absolute($0.path) }
  }

  /// The report of a run that never began; nil where none was written.
  var earlyPath: String? { wroteEarly.value == nil ? nil : shown }

  /// How a run that never began ended; nil where none was reported.
  var earlyOutcome: RunOutcome? { early.value?.head.outcome }

  /// Which targets are written.
  enum Extent: Sendable {
    /// Those that can be written again, with what comes of the notices.
    case files
    /// Standard output, pipes and devices, which can't.
    case streams
    case all
  }

  init(
    targets: [ReportTarget], json: Bool, isPlan: Bool = false, state: StateFolder, context: CommandContext
  ) {
    self.targets = targets
    self.json = json
    self.isPlan = isPlan
    self.state = state
    self.context = context
  }

  private var marks: [String: FileMark] {
    targets.filter { !$0.isStream }.map(\.path).reduce(into: [:]) { $0[$1] = FileMark($1) }
  }

  /// Another run may write them from here on: one that has the job while this one's state is lost.
  func noteFiles() { filesBefore.set(marks) }

  /// Writes the report of a run that has a plan.
  ///
  /// - Parameter extent: `files` where it is written again, once notices that lead to it are sent.
  func write(
    job: String, ledger: JobLedger, run number: Int, storedAt stored: String, _ extent: Extent
  ) throws {
    guard let run = try ledger.run(number: number) else { return }
    let report = try Self.report(try Self.head(job, ledger, run), ledger)
    try guarded {
      do { try ReportFile.write(stored, report.writeJSON) } catch let error as OutputFileError {
        // Whoever asked for the report is to have it all the same.
        try? deliver(
          extent, form: { try $0.write(report, to: context.console) }, json: { try report.writeJSON(to: $0) })
        throw error
      }
      // What this run itself has downloaded there is known by now.
      let owners = try targets.map { try ReportTarget.owner(of: $0.path, in: ledger) }
      let taken = zip(targets, owners).compactMap { target, owner in owner.map { (target, $0) } }
      // Making the JSON costs more than copying it.
      try deliver(
        extent, where: { target in !taken.contains { $0.0 == target } },
        form: { try $0.write(report, to: context.console) },
        json: { try ReportFile.read(stored, into: $0) })
      if let (target, owner) = taken.first { throw ReportTarget.taken(target.path, by: owner, .cannotCreate) }
    }
  }

  /// Writes the report of a run that never began, if one was asked for.
  ///
  /// - Parameter begun: the run as it began, where it did and its state was lost: without what became of its transfers.
  func writeEnd(
    job: Job?, file: ManifestFile, outcome: RunOutcome, status: ExitStatus, diagnostics: [Diagnostic],
    _ begun: RunRecord? = nil
  ) throws {
    let now = SystemClock.now
    var head = ReportHead(toolVersion: ToolVersion.current, jobName: job?.name)
    head.shard = state.shard
    head.manifest = file.path
    head.manifestSHA256 = file.sha256.isEmpty ? nil : file.sha256
    head.description = job?.description
    head.host = Machine.hostName
    head.runID = id
    head.startedAt = now
    if let begun { head.take(begun) }
    head.outcome = outcome
    head.exitCode = status.rawValue
    head.endedAt = now
    head.diagnostics = diagnostics.prefix(1000).map(RecordedDiagnostic.init)
    if isPlan {
      guard json else { return }
      let plan = PlanJSON(context.console.out)
      try plan.begin(head)
      return try plan.finish()
    }
    let end = EarlyReport(head: head, job: metricsJob(job, file))
    early.set(end)
    // What another run wrote meanwhile is left alone, later too.
    let before = begun == nil ? nil : filesBefore.value
    let kept = before.map { before in Set(marks.filter { before[$0.key] != $0.value }.keys) } ?? []
    defer { earlyFiles.set(marks.filter { !kept.contains($0.key) }) }
    try write(end, .files) { !kept.contains($0.path) }
    wroteEarly.set(())
  }

  /// Writes the report of a run whose end is not on record, unless what ended it has.
  func writeEnd(of end: End, job: Job?, file: ManifestFile, _ begun: RunRecord? = nil) {
    guard early.value == nil, end.status != .usage else { return }
    // Where a report can't be written either, `end` says why the run ended.
    try? writeEnd(
      job: job, file: file, outcome: .early(end.status), status: end.status,
      diagnostics: [Diagnostic(.error, end.message ?? "the run did not begin", hint: end.hint)], begun)
  }

  /// A manifest that can't be read does not tell the job: the state does, where that manifest has run.
  private func metricsJob(_ job: Job?, _ file: ManifestFile) -> String? {
    if let job { return job.name }
    guard targets.contains(where: { $0.form == .prometheus }) else { return nil }
    return state.job(of: file)
  }

  /// Writes it again, with what came of its notices: not over what the run that has the job wrote meanwhile.
  func finishEnd(_ notices: [NoticeRecord]) throws {
    guard var early = early.value else { return }
    early.head.notices = notices
    let files = earlyFiles.value ?? [:]
    try write(early, notices.isEmpty ? .streams : .all) { $0.isStream || files[$0.path] == FileMark($0.path) }
  }

  private func write(
    _ early: EarlyReport, _ extent: Extent, where isWanted: (ReportTarget) -> Bool = { _ in true }
  ) throws {
    guard !targets.isEmpty || json else { return }
    func report(_ head: ReportHead, _ ledger: JobLedger?) -> LedgerReport {
      LedgerReport(head, ledger: ledger, describe: { _ in (EndpointRegistry.web.word, nil) })
    }
    let whole = report(early.head, nil)
    var named = early.head
    named.jobName = early.job
    let console = context.console
    try guarded {
      try deliver(extent) { target in
        // Metrics without a name, or of a run that left the job to another, would replace true ones.
        isWanted(target) && (target.form != .prometheus || early.job != nil && !early.isSkipped)
      } form: { target in
        guard target.form == .prometheus else { return try target.write(whole, to: console) }
        // A dashboard goes on from what the runs before have left, whatever became of this one.
        let known = early.job.flatMap { state.exists($0) ? try? state.open($0) : nil }
        do { try target.write(report(named, known), to: console) } catch is LedgerError {
          try target.write(report(named, nil), to: console)
        }
      } json: {
        try whole.writeJSON(to: $0)
      }
    }
  }

  /// Refuses a run for inputs that are not there: says each, and writes the report that was asked for.
  ///
  /// - Throws: `End` with 66, unless the list is empty.
  func refuse(_ absent: [Diagnostic], job: Job, file: ManifestFile) throws {
    guard !absent.isEmpty else { return }
    context.console.print(absent)
    try writeEnd(job: job, file: file, outcome: .failed, status: .noInput, diagnostics: absent)
    let count = absent.count == 1 ? "1 secret or file is" : "\(absent.count) secrets or files are"
    throw End(
      .noInput, "`\(file.path)`: \(count) not there: nothing was transferred",
      hint: "provide them where haul runs: cron and systemd start programs with an environment of their own"
    )
  }

  /// - Parameter includesAll: every transfer of however long a plan.
  static func report(_ head: ReportHead, _ ledger: JobLedger, includesAll: Bool = false) throws
    -> LedgerReport
  {
    let names = try EndpointDescriptions(ledger)
    return LedgerReport(
      head, ledger: ledger, includesAll: includesAll, capabilities: names.capabilities,
      describe: names.describe)
  }

  static func head(_ job: String, _ ledger: JobLedger, _ run: RunRecord?) throws -> ReportHead {
    var head = ReportHead(toolVersion: ToolVersion.current, jobName: job)
    head.isPlanned = try ledger.wasPlanned
    head.manifest = try ledger.meta("manifest_as_given")
    head.manifestSHA256 = try ledger.meta("manifest_sha256")
    head.inputsSHA256 = try ledger.meta("inputs_sha256")
    head.description = try ledger.meta("description").flatMap { $0.isEmpty ? nil : $0 }
    head.shard = try ledger.meta(StateFolder.shardMeta).flatMap { try? Shard($0) }
    head.wholeCount = try ledger.meta(JobLedger.wholeCount).flatMap { Int64($0) }
    head.host = Machine.hostName
    head.limit = try ledger.limit()
    let names = try EndpointDescriptions(ledger)
    head.describe = { names.describe($0) }
    let now = SystemClock.now
    head.limits = try ledger.jobLimits()
    head.zone = TimeZones.find(nil)
    head.reportFolder = PathParts(ledger.path).parent + "/reports"
    let budget = head.limits.budget
    let isSpent =
      try budget.map { budget in
        let period = BudgetPeriod(budget.period, at: now, zone: TimeZones.find(nil)).name
        return try ledger.spent(policy: Budget.jobName, period: period) >= budget.bytes
      } ?? false
    head.resumesAt = {
      PolicyPause.end(
        of: $0, under: $1, jobBudget: budget?.period, isJobSpent: isSpent, now: now, zone: TimeZones.find)
    }
    if let run {
      head.take(run)
      head.notices = try ledger.notices(run: run.number)
      head.previousStart =
        run.number == 1 ? 0 : try ledger.run(number: run.number - 1)?.startedAt ?? run.startedAt
      if let scope = run.scope, let counts = try ledger.selectedCounts(run: run.number) {
        head.selection = SelectionReport(selection: scope, counts: counts)
        head.selection?.listed = try ledger.listedIDs(run: run.number)
      }
      head.concurrency = try ledger.hostConcurrency(since: run.startedAt, now: now)
      if run.endedAt == nil { head.hosts = try ledger.hosts() }
    }
    return head
  }

  /// Sums a run up on standard error.
  ///
  /// - Parameter status: what the command ends with: another than the run where its report can't be written.
  func sumUp(_ job: String, _ ledger: JobLedger, _ number: Int, _ status: ExitStatus) throws {
    let console = context.console
    guard status != .success || !console.style.isQuiet else { return }
    let isColoured = console.coloursErrors && !console.style.isRecords
    var head = try Self.head(job, ledger, ledger.run(number: number))
    head.exitCode = status.rawValue
    let text = ReportText(head, ledger: ledger, isColoured: isColoured)
    guard console.style.isRecords else { return console.timed(try text.text()) }
    let level = status == .success ? "info" : status == .incomplete ? "warning" : "error"
    let lines = try text.text().split(separator: "\n").map(String.init)
    if console.style.format == .json {
      console.record(level, lines.first ?? job, try text.json())
    } else {
      for line in lines { console.record(level, line) }
    }
  }

  /// Writes each target; one that can't be written keeps none of the others back.
  private func deliver(
    _ extent: Extent, where isWanted: (ReportTarget) -> Bool = { _ in true },
    form write: (ReportTarget) throws -> Void, json writeJSON: (_ sink: @escaping ByteSink) throws -> Void
  ) throws {
    let console = context.console
    let wanted = targets.filter { target in
      switch extent {
      case .files: !target.isStream && isWanted(target)
      case .streams: target.isStream && isWanted(target)
      case .all: isWanted(target)
      }
    }
    let files = wanted.map { target in
      Result {
        if target.form != .json {
          try write(target)
        } else if target.path != "-" {
          try ReportFile.write(target.path, writeJSON)
        }
      }
    }
    if extent != .files, json || targets.contains(ReportTarget("-", as: .json)) {
      try writeJSON { console.out($0) }
    }
    for file in files { try file.get() }
  }

  private func guarded(_ body: () throws -> Void) throws {
    do { try body() } catch let error as OutputFileError { throw End(error) }
  }
}
