import ArgumentParser
import Foundation
import JobLedger
import JobManifest
import JobModel

struct RunCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Runs a job: goes on with an unfinished run, else starts a new one; writes its report.")

  @Argument(help: "The manifest.")
  var manifest: String

  @OptionGroup var options: RunOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    let file = try ManifestFile(manifest)
    let given = try Overrides.parse(options.overrides)
    let deadline = try options.deadline.map(duration)
    try checkWritable()
    let reports = ReportSink(path: options.report, json: common.json)
    var read = file.read(overrides: given)
    guard let named = read.job else { throw try refuse(file, read, reports) }
    let state = common.stateFolder
    let isNew = !state.exists(named.name)
    try state.make(named.name)
    guard let lock = try RunLock.take(state.folder(named.name), waiting: options.ifRunning == .wait) else {
      if options.ifRunning == .skip { return Terminal.talk("haul: the job `\(named.name)` is running already: skipped\n") }
      try reports.writeEnd(job: named, file: file, outcome: .refused, status: .alreadyRunning, diagnostics: [
        Diagnostic(.error, "the job is running already")
      ])
      throw End(
        .alreadyRunning, "the job `\(named.name)` is running already",
        hint: "`haul status \(named.name) --watch` follows it; `--if-running wait` waits for it")
    }
    defer { withExtendedLifetime(lock) {} }
    let ledger = try state.open(named.name)
    do {
      try ledger.settleInterrupted()
      let last = try ledger.lastRun()
      let continued = options.newRun ? nil : last.flatMap { $0.isUnfinished ? $0 : nil }
      let overrides = try self.overrides(given, of: continued)
      if overrides != given { read = file.read(overrides: overrides) }
      guard let job = read.job else { throw PlanCompiler.Faulty(diagnostics: read.diagnostics) }
      try checkOwner(job, ledger, file)
      let session = RunSession(
        job: job, file: file, state: state, ledger: ledger, options: options, common: common, reports: reports,
        warnings: read.diagnostics, deadline: deadline)
      try await session.run(continued: continued, overrides: overrides)
    } catch let fault as PlanCompiler.Faulty {
      // A fault leaves no state behind that was not there before.
      if isNew { try? FileManager.default.removeItem(atPath: state.folder(named.name)) }
      read.diagnostics += fault.diagnostics.filter { !read.diagnostics.contains($0) }
      read.job = nil
      throw try refuse(file, read, reports)
    } catch let error as LedgerError {
      throw End(.cannotCreate, error.description)
    }
  }

  /// What `--set` means for a run that goes on: the same, or nothing.
  private func overrides(_ given: [String: String], of continued: RunRecord?) throws -> [String: String] {
    guard let continued else { return given }
    guard given.isEmpty || given == continued.overrides else {
      throw End(
        .usage, "run \(continued.number) is unfinished and keeps its own `--set` values",
        hint: "leave `--set` out to go on with it, or give `--new-run` to start anew")
    }
    return continued.overrides
  }

  /// One job name, one manifest: a second path under a known name is a mistake more often than not.
  private func checkOwner(_ job: Job, _ ledger: JobLedger, _ file: ManifestFile) throws {
    let path = Paths.real(file.path)
    if let known = try ledger.meta("manifest"), known != path, !options.adopt {
      throw PlanCompiler.Faulty(diagnostics: [
        Diagnostic(
          .error, "the job `\(job.name)` is known to the state from another manifest, `\(known)`",
          at: SourceMark(file: file.path, line: 1, column: 1),
          hint: "give the job another name, or `--adopt` to take its state over")
      ])
    }
    try ledger.setMeta("manifest", path)
    try ledger.setMeta("manifest_as_given", file.path)
    try ledger.setMeta("manifest_sha256", file.sha256)
    try ledger.setMeta("description", job.description ?? "")
  }

  private func refuse(_ file: ManifestFile, _ read: ManifestResult, _ reports: ReportSink) throws -> End {
    DiagnosticText.print(read.diagnostics)
    try reports.writeEnd(
      job: read.readable, file: file, outcome: .invalid, status: .invalidManifest, diagnostics: read.diagnostics)
    let errors = read.diagnostics.filter { $0.severity == .error }
    let unreadable = errors.allSatisfy { $0.cause == .unreadableInput }
    return End(
      unreadable ? .noInput : .invalidManifest, "`\(file.path)`: \(errors.count) \(errors.count == 1 ? "error" : "errors")")
  }

  private func duration(_ text: String) throws -> Double {
    do { return try Units.duration(text) } catch {
      throw End(.usage, "`--deadline`: \(error.message)", hint: error.hint)
    }
  }

  /// A report or an events file that can't be written is known before anything is moved.
  private func checkWritable() throws {
    for path in [options.report, options.events].compactMap({ $0 }) where path != "-" {
      let folder = (Paths.absolute(path) as NSString).deletingLastPathComponent
      let target = FileManager.default.fileExists(atPath: path) ? path : folder
      guard access(target, W_OK) == 0 else {
        throw End(.cannotCreate, "`\(path)` can't be written: \(String(cString: strerror(errno)))")
      }
    }
  }
}
