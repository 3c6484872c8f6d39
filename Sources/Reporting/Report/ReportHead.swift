package import JobLedger
package import JobModel

/// What a run was asked for alone, and how that stands.
package struct SelectionReport: Sendable {
  package var selection: Selection
  package var counts: StateCounts
  /// Of `--only-from`, where it is on record.
  package var listed: ListedIDs?

  package init(selection: Selection, counts: StateCounts) {
    self.selection = selection
    self.counts = counts
  }
}

/// What a report says beyond what the ledger holds.
package struct ReportHead: Sendable {
  package var toolVersion: String
  /// nil where the manifest was too broken to tell.
  package var jobName: String?
  /// The path as the user gave it.
  package var manifest: String?
  package var manifestSHA256: String?
  /// Of `--set` and the imported files, which the plan was made of as well; nil where no version recorded it.
  package var inputsSHA256: String?
  package var description: String?
  package var host: String?
  /// The part of the job that was run; nil for a whole one.
  package var shard: Shard?
  /// Transfers of the whole job as the part planned it; nil where that is not known.
  package var wholeCount: Int64?
  /// False where the first run was stopped, or is at work, before the plan was made: no transfers are known.
  package var isPlanned = true
  /// nil for a run that never began: an invalid manifest, a refused run.
  package var run: RunRecord?
  /// The id that a run which never began goes by.
  package var runID: String?
  /// Body bytes of the current attempt, which the ledger may not have yet.
  package var attemptBytes: Int64?
  /// nil while the run goes on.
  package var outcome: RunOutcome?
  package var exitCode: Int32?
  /// Seconds since 1970.
  package var startedAt: Double?
  package var endedAt: Double?
  /// What `haul limit` says.
  package var limit: Bandwidth?
  /// What caps all policies of the job together.
  package var limits = JobLimits()
  /// The machine's, for times in texts.
  package var zone = CivilZone.utc
  /// Where the job's reports are kept, each as `RUN.json`; nil where nothing keeps them.
  package var reportFolder: String?
  /// Servers that are not asked as freely as the policies let, while the run goes on.
  package var hosts: [HostStanding] = []
  /// Requests at a time that `connections: auto` came to in the run, by origin.
  package var concurrency: [String: Int] = [:]
  /// What the attempt was asked for alone, and how that stands.
  package var selection: SelectionReport?
  /// When the run before this one began, seconds since 1970.
  package var previousStart: Double?
  /// When a policy lets its paused transfers go on, seconds since 1970; nil where no waiting helps.
  package var resumesAt: @Sendable (TransferState, EffectivePolicy) -> Double? = { _, _ in nil }
  /// A transfer's protocol and URL.
  package var describe: @Sendable (LedgerTransfer) -> WirePlace = { _ in ("", nil) }
  /// What came of the run's notices.
  package var notices: [NoticeRecord] = []
  /// Beyond those that the ledger has recorded for the run.
  package var diagnostics: [RecordedDiagnostic] = []

  package init(toolVersion: String, jobName: String?) {
    self.toolVersion = toolVersion
    self.jobName = jobName
  }

  /// Takes everything about the run from its record.
  package mutating func take(_ run: RunRecord) {
    self.run = run
    runID = run.id
    outcome = run.outcome
    exitCode = run.exitCode.map { Int32($0) }
    startedAt = run.startedAt
    endedAt = run.endedAt
    attemptBytes = run.attempts.last?.bytesTransferred
  }

  /// The run's attempts; what the ledger does not know yet of the current one is filled in.
  var attempts: [AttemptRecord] {
    var attempts = run?.attempts ?? []
    guard var last = attempts.popLast() else { return [] }
    if last.endedAt == nil {
      last.endedAt = endedAt
      last.exitCode = exitCode.map { Int($0) }
      last.bytesTransferred = attemptBytes ?? last.bytesTransferred
    }
    return attempts + [last]
  }

  /// What a command is given to mean the same job, or part of it.
  func argument(_ name: String) -> String { name + (shard.map { " --shard \($0.text)" } ?? "") }

  var start: Double? { run?.startedAt ?? startedAt }

  /// The job's state by its transfers; before there are any, by who is to plan them.
  func jobState(_ counts: StateCounts, isRunning: Bool) -> String {
    isPlanned ? counts.jobState : isRunning ? "running" : "queued"
  }

  /// Seconds that attempts ran, the pauses between them left out; `now` ends one that still runs.
  func activeSeconds(now: Double?) -> Double? {
    let spans = attempts.compactMap { attempt in (attempt.endedAt ?? now).map { $0 - attempt.startedAt } }
    return spans.isEmpty ? nil : max(0, spans.reduce(0, +))
  }
}
