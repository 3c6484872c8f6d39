import Endpoints
import Glibc
import JobLedger
import JobManifest
import JobModel
import Posix
import Reporting
import TimeZones

/// Where a run's report goes: its job's folder, the path that was asked for, and standard output.
struct ReportSink: Sendable {
  /// `--report`.
  let path: String?
  /// `--json`.
  let json: Bool
  /// What `--json` of `plan` says of a job without a plan is shaped like a plan.
  var isPlan = false
  let context: CommandContext

  /// Writes the report of a run that has a plan.
  func write(job: String, ledger: JobLedger, run number: Int, storedAt stored: String) throws {
    guard let run = try ledger.run(number: number) else { return }
    let writer = try Self.writer(try Self.head(job, ledger, run), ledger)
    try guarded {
      do { try ReportFile.write(stored, writer.write) } catch let error as OutputFileError {
        // Whoever asked for the report is to have it all the same.
        try? deliver(writer.write)
        throw error
      }
      // Making it costs more than copying it.
      try deliver { sink in try ReportFile.read(stored, into: sink) }
    }
  }

  /// Writes the report of a run that never began, if one was asked for.
  func writeEnd(
    job: Job?, file: ManifestFile, outcome: RunOutcome, status: ExitStatus, diagnostics: [Diagnostic]
  ) throws {
    guard path != nil || json else { return }
    let now = SystemClock.now
    var head = ReportHead(toolVersion: ToolVersion.current, jobName: job?.name)
    head.manifest = file.path
    head.manifestSHA256 = file.sha256
    head.description = job?.description
    head.host = Machine.hostName
    head.runID = ULID.make(now: now)
    head.outcome = outcome
    head.exitCode = status.rawValue
    head.startedAt = now
    head.endedAt = now
    head.diagnostics = diagnostics.prefix(1000).map(RecordedDiagnostic.init)
    if isPlan {
      let plan = PlanJSON(context.console.out)
      try plan.begin(head)
      return try plan.finish()
    }
    let writer = ReportWriter(head, ledger: nil, describe: { _ in (EndpointRegistry.web.word, nil) })
    try guarded { try deliver(writer.write) }
  }

  /// Refuses a run for inputs that are not there: says each, and writes the report that was asked for.
  ///
  /// - Throws: `End` with 66, unless the list is empty.
  func refuse(_ absent: [Diagnostic], job: Job, file: ManifestFile) throws {
    guard !absent.isEmpty else { return }
    context.console.print(absent)
    try writeEnd(job: job, file: file, outcome: .failed, status: .noInput, diagnostics: absent)
    let count = absent.count == 1 ? "1 secret is" : "\(absent.count) secrets are"
    throw End(
      .noInput, "`\(file.path)`: \(count) not there: nothing was transferred",
      hint: "provide them where haul runs: cron and systemd start programs with an environment of their own"
    )
  }

  /// - Parameter includesAll: every transfer of however long a plan.
  static func writer(
    _ head: ReportHead, _ ledger: JobLedger, includesAll: Bool = false, isSummary: Bool = false
  ) throws -> ReportWriter {
    let names = try EndpointDescriptions(ledger)
    return ReportWriter(
      head, ledger: ledger, includesAll: includesAll, isSummary: isSummary,
      capabilities: names.capabilities, describe: names.describe)
  }

  static func head(_ job: String, _ ledger: JobLedger, _ run: RunRecord?) throws -> ReportHead {
    var head = ReportHead(toolVersion: ToolVersion.current, jobName: job)
    head.manifest = try ledger.meta("manifest_as_given")
    head.manifestSHA256 = try ledger.meta("manifest_sha256")
    head.description = try ledger.meta("description").flatMap { $0.isEmpty ? nil : $0 }
    head.host = Machine.hostName
    head.limit = try ledger.limit()
    let names = try EndpointDescriptions(ledger)
    head.describe = { names.describe($0) }
    let now = SystemClock.now
    head.resumesAt = {
      PolicyPause.end(of: $0.state, under: $0.settings.policy, now: now, zone: TimeZones.find)
    }
    if let run {
      head.take(run)
      head.previousStart =
        run.number == 1 ? 0 : try ledger.run(number: run.number - 1)?.startedAt ?? run.startedAt
      if let only = run.scope, let selection = try? Selection(only) {
        head.selection = SelectionReport(only: only, counts: try ledger.counts(of: selection))
      }
      if run.endedAt == nil { head.hosts = try ledger.hosts() }
    }
    return head
  }

  /// Sums a run up on standard error.
  func sumUp(_ job: String, _ ledger: JobLedger, _ number: Int, _ status: ExitStatus) throws {
    let console = context.console
    guard status != .success || !console.style.isQuiet else { return }
    let isColoured = console.coloursErrors && !console.style.isJSON
    let text = ReportText(
      try Self.head(job, ledger, ledger.run(number: number)), ledger: ledger, isColoured: isColoured)
    guard console.style.isJSON else { return console.timed(try text.text()) }
    let title = try text.text().split(separator: "\n").first.map(String.init) ?? job
    console.record(
      status == .success ? "info" : status == .incomplete ? "warning" : "error", title, try text.json())
  }

  private func deliver(_ report: (_ sink: @escaping ByteSink) throws -> Void) throws {
    let file = Result { if let path, path != "-" { try ReportFile.write(path, report) } }
    if path == "-" || json { try report { [console = context.console] in console.out($0) } }
    try file.get()
  }

  private func guarded(_ body: () throws -> Void) throws {
    do { try body() } catch let error as OutputFileError { throw End(.cannotCreate, error.description) }
  }
}
