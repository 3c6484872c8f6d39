import Endpoints
import JobLedger
import JobManifest
import JobModel

/// A manifest as the next run of its job takes it: with that run's own values, and this machine's part of the job.
struct OpenedManifest {
  /// The job's, also where the manifest has faults.
  let name: String
  private let file: ManifestFile
  private let state: StateFolder
  private let given: [String: String]
  private let spared: StateFolder?
  private(set) var read: ManifestResult
  private(set) var overrides: [String: String]

  /// - Parameter spared: no destination may lie in its folders of the job.
  /// - Throws: `End`, with the faults printed and reported, where there is neither a job nor its state.
  init(
    _ file: ManifestFile, given: [String: String], _ state: StateFolder, sparing spared: StateFolder? = nil,
    _ reports: ReportSink
  ) throws {
    let read = file.read(overrides: given)
    let named = file.jobName ?? read.readable?.name
    guard let name = named, read.job != nil || state.exists(name) else {
      throw try JobOpening.refuse(file, JobOpening.withRows(read, sparing: spared), reports)
    }
    self.name = name
    self.file = file
    self.state = state
    self.given = given
    self.spared = spared
    self.read = read
    overrides = given
  }

  /// The job, read with the values of the run that goes on, where one does; its state is this manifest's.
  ///
  /// - Parameter ledger: nil where the job has none yet.
  mutating func job(_ ledger: JobLedger?, continuing run: RunRecord?, adopt: Bool) throws -> Job {
    overrides = try JobOpening.overrides(given, of: run)
    if overrides != given { read = file.read(overrides: overrides) }
    guard let whole = read.job else {
      throw PlanCompiler.Faulty(diagnostics: JobOpening.withRows(read, sparing: spared).diagnostics)
    }
    let job = whole.divided(for: state.shard)
    if let takenOver = try JobOpening.checkOwner(job, ledger, file, adopt: adopt, in: state) {
      read.diagnostics.append(takenOver)
    }
    return job
  }

  func mark(_ job: Job, _ run: RunValues) -> PlanFingerprint? {
    PlanFingerprint.of(job, file: file, read: read, overrides: overrides, run: run, shard: state.shard)
  }

  func former(_ job: Job, _ ledger: JobLedger) throws -> FormerIdentity? {
    try FormerIdentity(
      job, ledger, manifest: file.sha256, overrides: overrides,
      dependsOnEnvironment: !read.environment.isEmpty)
  }
}
