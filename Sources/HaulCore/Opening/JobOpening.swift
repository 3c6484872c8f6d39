import Endpoints
import Glibc
import JobLedger
import JobManifest
import JobModel
import Planner
import Posix

/// A job read, locked and compiled for a run.
struct JobOpening: Sendable {
  let job: Job
  let file: ManifestFile
  let ledger: JobLedger
  let lock: RunLock
  /// The stopped run that goes on; nil where a new one starts.
  let continued: RunRecord?
  let runID: String
  let overrides: [String: String]
  /// The number of the last control that was requested before this runner came: it is not meant for this run.
  let lastControl: Int64
  /// The run's start, seconds since 1970: what the plan was compiled with.
  let startedAt: Double
  let compiled: PlanCompiler.Compiled
  /// Warnings of reading and compiling.
  let diagnostics: [Diagnostic]

  /// Opens it on a thread of its own: compiling may have to wait for listings.
  static func openApart(
    _ file: ManifestFile, _ settings: RunSettings, state: StateFolder, reports: ReportSink
  ) async throws -> JobOpening? {
    try await DedicatedThread.run { try open(file, settings, state: state, reports: reports) }
  }

  /// - Returns: nil where the job is running already and `ifRunning` says to skip it.
  /// - Throws: `End`, with the diagnostics printed and the report that was asked for written.
  static func open(
    _ file: ManifestFile, _ settings: RunSettings, state: StateFolder, reports: ReportSink
  ) throws -> JobOpening? {
    let (ifRunning, context) = (settings.ifRunning, reports.context)
    var file = file
    var manifest = try OpenedManifest(file, given: settings.overrides, state, reports)
    let name = manifest.name
    let isNewRoot = !Files.exists(state.path)
    try state.make(name)
    var held = try state.lock(name, waiting: false)
    if held == nil, ifRunning == .wait {
      context.console.note("\(state.words(name)) is running already: waiting for its end")
      held = try state.lock(name, waiting: true)
      // It may have been hours: what counts is the manifest as the run begins.
      file = try file.readAgain()
      manifest = try OpenedManifest(file, given: settings.overrides, state, reports)
      if manifest.name != name {
        held = nil
        return try open(file, settings, state: state, reports: reports)
      }
    }
    guard let lock = held else { return try alreadyRunning(name, file, manifest.read, ifRunning, reports) }
    // Behind the lock, which may have been waited for: another first run may have ended meanwhile.
    let isNew = !state.exists(name)
    var opened: JobLedger?
    do {
      let now = SystemClock.now
      if isNew, let job = manifest.read.job {
        if let mark = manifest.mark(job, RunValues(id: "", startedAt: now))?.whole {
          KeptPlan.move(of: name, from: mark, to: state.folder(name), state)
        }
        KeptPlan.remove(of: name, state)
      }
      let ledger = try state.open(name, holding: lock)
      opened = ledger
      let lastControl = try ledger.lastControl()
      try ledger.settleInterrupted()
      let continued =
        settings.startsNew
        ? nil : try ledger.lastRun().flatMap { $0.isContinued(by: settings.selection) ? $0 : nil }
      let job = try manifest.job(ledger, continuing: continued, adopt: settings.adopt)
      let id = continued?.id ?? ULID.make(now: now)
      try reports.refuse(SecretCheck(job, context.secrets).forListings(), job: job, file: file)
      let lister = try PrefixLister(
        job, stateFolder: state.folder(name), ledger: ledger, waits: settings.waits, context)
      defer { lister?.shutDown() }
      let values = RunValues(id: id, startedAt: continued?.startedAt ?? now)
      let compiled = try PlanCompiler.compile(
        job, run: values, mark: manifest.mark(job, values), former: manifest.former(job, ledger),
        into: ledger, lister: lister, part: state.shard.map { PartRule(job, $0) })
      // Not recorded: a report of all parts together says what that of one machine would.
      context.console.print(job.remarks(on: state.shard, isOwn: true))
      try file.remember(in: ledger, manifest.read, overrides: manifest.overrides)
      try remember(job, ledger, state.shard, environment: manifest.read.environment)
      return JobOpening(
        job: job, file: file, ledger: ledger, lock: lock, continued: continued, runID: id,
        overrides: manifest.overrides, lastControl: lastControl, startedAt: values.startedAt,
        compiled: compiled, diagnostics: manifest.read.diagnostics + compiled.diagnostics)
    } catch {
      // A fault leaves no state behind that was not there before, but for what was listed where it may pass: the next run goes on.
      let isFault = error is PlanCompiler.Faulty || error is Failure
      let mayPass = (error as? Failure)?.code.isRetryable == true
      let goesOn = mayPass && (try? opened?.hasListed()) == true
      opened = nil
      if isNew, isFault, !goesOn { state.forget(name, andEmptyRoot: isNewRoot) }
      throw try end(error, file, manifest.read, reports)
    }
  }

  /// What an error of reading or compiling means for the command; the report that was asked for is written.
  static func end(
    _ error: any Error, _ file: ManifestFile, _ read: ManifestResult, _ reports: ReportSink
  ) throws -> any Error {
    switch error {
    case let fault as PlanCompiler.Faulty:
      var read = read
      read.diagnostics += fault.diagnostics.filter { !read.diagnostics.contains($0) }
      return try refuse(file, read, reports)
    case let failure as Failure:
      // A remote prefix could not be listed: without its names there is no plan.
      let mayPass = failure.code.isRetryable
      let message = "\(failure.code.rawValue): \(failure.message)"
      try reports.writeEnd(
        job: read.readable, file: file, outcome: mayPass ? .incomplete : .failed,
        status: mayPass ? .incomplete : .noInput, diagnostics: [Diagnostic(.error, message)])
      return End(mayPass ? .incomplete : .noInput, message, hint: failure.code.hint)
    case let error as LedgerError: return End(error)
    default: return error
    }
  }

  /// The faults of rows and globs as well, so that one pass shows them all.
  static func withRows(_ read: ManifestResult, sparing state: StateFolder? = nil) -> ManifestResult {
    guard let readable = read.readable,
      let expansion = try? PlanCompiler.check(
        readable, run: RunValues(id: ULID.make(now: 0), startedAt: SystemClock.now),
        sparing: state?.folders(for: readable))
    else { return read }
    var all = read
    all.diagnostics += expansion.diagnostics.filter { !read.diagnostics.contains($0) }
    return all
  }

  private static func alreadyRunning(
    _ name: String, _ file: ManifestFile, _ read: ManifestResult, _ ifRunning: RunSettings.IfRunning,
    _ reports: ReportSink
  ) throws -> JobOpening? {
    let message = "\(reports.state.words(name)) is running already"
    try reports.writeEnd(
      job: read.readable, file: file, outcome: .refused,
      status: ifRunning == .skip ? .success : .alreadyRunning,
      diagnostics: [Diagnostic(ifRunning == .skip ? .note : .error, message)])
    if ifRunning == .skip {
      reports.context.console.note("\(message): skipped")
      return nil
    }
    throw End(
      .alreadyRunning, message,
      hint:
        "`haul status \(name)\(reports.state.option) --watch` follows it; `--if-running wait` waits for its end"
    )
  }

  /// What `--set` means for a run that goes on: the same, or nothing.
  static func overrides(_ given: [String: String], of continued: RunRecord?) throws
    -> [String: String]
  {
    guard let continued else { return given }
    guard given.isEmpty || given == continued.overrides else {
      throw End(
        .usage, "run \(continued.number) was stopped and keeps its own `--set` values",
        hint: "leave `--set` out to go on with it, or give `--new-run` to start anew")
    }
    return continued.overrides
  }

  /// One job name, one manifest: a second path under a known name is a mistake more often than not. The paths count as
  /// they are given: a link that leads elsewhere by now (`current/job.yaml`) is the same manifest still.
  ///
  /// - Parameter ledger: the job's, or the part's; nil where it has none. Then the job's others tell.
  /// - Returns: that the state was taken over from a manifest that is gone.
  static func checkOwner(
    _ job: Job, _ ledger: JobLedger?, _ file: ManifestFile, adopt: Bool, in state: StateFolder
  ) throws -> Diagnostic? {
    guard !adopt else { return nil }
    let own = try ledger?.meta("manifest")
    guard let known = own ?? state.knownManifest(of: job.name) else { return nil }
    let given = file.logicalPath
    // Versions before kept the path with its links resolved, and the given one apart.
    let names = try [known, ledger?.meta("manifest_as_given") ?? known].map(ByteText.init)
    if names.contains(ByteText(given)) || ByteText(Paths.real(known)) == ByteText(Paths.real(given)) {
      return nil
    }
    // Standard input is no file: it may come again as long as its folder is there.
    let isInput = PathParts(known).name == "-" && Files.isFolder(PathParts(known).parent)
    guard isInput || Files.exists(known) else {
      guard own != nil else { return nil }
      return Diagnostic(
        .warning,
        "the state of the job `\(job.name)` is taken over from `\(known)`, which is no longer there",
        at: job.namePlace?.mark)
    }
    throw PlanCompiler.Faulty(diagnostics: [
      Diagnostic(
        .error, "the job `\(job.name)` is known to the state from another manifest, `\(known)`",
        at: job.namePlace?.mark, lineText: job.namePlace?.lineText,
        hint: "give the job another name, or `--adopt` to take its state over")
    ])
  }

  /// What reports say of the manifest, which they must not need again.
  private static func remember(
    _ job: Job, _ ledger: JobLedger, _ shard: Shard?, environment: [String: String]
  ) throws {
    try ledger.setMeta(StateFolder.shardMeta, shard?.text ?? "")
    // What the environment put into a notice may be meant to stay there.
    let mask = SecretMask()
    for value in environment.values { mask.learn(Secret(value)) }
    try ledger.setMeta(KeptNotices.meta, KeptNotices(job).without(mask).text)
    try ledger.setMeta("description", job.description ?? "")
    try ledger.setJobLimits(job.limits)
    try ledger.setMeta("endpoints", EndpointRecords(job.endpoints).text)
  }

  static func refuse(_ file: ManifestFile, _ read: ManifestResult, _ reports: ReportSink) throws
    -> End
  {
    reports.context.console.print(read.diagnostics)
    let errors = read.diagnostics.filter { $0.severity == .error }
    let status = ExitStatus.of(errors)
    try reports.writeEnd(
      job: read.readable, file: file, outcome: .invalid, status: status, diagnostics: read.diagnostics)
    return End(
      status,
      "`\(file.path)`: \(errors.count) \(errors.count == 1 ? "error" : "errors")")
  }
}
