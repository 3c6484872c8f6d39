import Endpoints
import JobLedger
import JobManifest
import JobModel
import Locks
import Posix

/// The end of a run whose ledger does not record it: refused, invalid, without its inputs, or with a state that can't be
/// used. Its notices are sent all the same, and its report says what came of them.
struct EarlyEnd: Sendable {
  private let file: ManifestFile
  private let settings: RunSettings
  private let state: StateFolder
  private let reports: ReportSink

  init(_ file: ManifestFile, _ settings: RunSettings, state: StateFolder, reports: ReportSink) {
    self.file = file
    self.settings = settings
    self.state = state
    self.reports = reports
  }

  /// - Parameters:
  ///   - isSkipped: another runner has the job, and that is no failure.
  ///   - begun: the attempt, where it is on record that it began.
  func tell(
    _ status: ExitStatus, isSkipped: Bool = false, of begun: RunRecord?, _ stopper: StopController
  ) async {
    let told = Locked<[NoticeRecord]>([])
    if let (job, kept) = onRecord(overrides: begun?.overrides ?? settings.overrides) {
      let notices = RunNotices(
        job, kept, run: begun?.id ?? reports.id, startedAt: begun?.startedAt ?? SystemClock.now,
        report: reports.earlyPath)
      let ledger = ledger(of: job)
      let known = begun == nil ? nil : ledger
      let owed = notices.owed(
        run: begun?.number, attempt: begun?.attempts.last?.number ?? 0,
        .init(
          outcome: reports.earlyOutcome ?? .early(status), status: status, isSkipped: isSkipped),
        counts: try? known?.counts(isSelective: settings.selection != nil), sums: try? known?.sums())
      if !owed.isEmpty {
        // A state that can't be written does not keep them from being sent now.
        let isOwed = (try? ledger?.owe(owed, run: begun?.number)) != nil
        // What was owed before goes first; another runner sends its own.
        let backlog = isOwed && (begun != nil || (try? state.isRunning(job)) == false) ? ledger : nil
        await NoticeDelivery.bounded(by: stopper) { [context = reports.context] in
          let delivery = NoticeDelivery(context)
          let records =
            if let backlog {
              await delivery.deliver(from: backlog)
            } else { await delivery.deliver(owed, noting: isOwed ? ledger : nil) }
          told.withLock { $0 = owed.map { records[$0.key] ?? NoticeRecord($0) } }
        }
      }
    }
    // The path was written once: what is wrong with it has been said.
    try? reports.finishEnd(told.withLock { $0 })
  }

  /// The job's name, and what it tells: by its manifest, else as the last run of that manifest left it.
  private func onRecord(overrides: [String: String]) -> (job: String, notices: KeptNotices)? {
    if let job = file.read(overrides: overrides).readable { return (job.name, KeptNotices(job)) }
    guard let job = state.job(of: file), let text = try? ledger(of: job)?.meta(KeptNotices.meta),
      let kept = KeptNotices(text)
    else { return nil }
    return (job, kept)
  }

  /// A run that was refused leaves no state behind that was not there before.
  private func ledger(of job: String) -> JobLedger? {
    state.exists(job) ? try? state.open(job) : nil
  }
}
