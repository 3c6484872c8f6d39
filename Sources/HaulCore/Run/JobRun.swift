import Endpoints
import JobLedger
import JobManifest
import JobModel
import Posix
import Scheduler

/// One `haul run`: opens a job, runs it, and reports it.
package struct JobRun: Sendable {
  let settings: RunSettings
  let state: StateFolder
  let context: CommandContext

  package init(_ settings: RunSettings, state: StateFolder, context: CommandContext) {
    self.settings = settings
    self.state = state
    self.context = context
  }

  /// - Parameters:
  ///   - root: the folder of a manifest that comes by standard input.
  ///   - interrupter: the name of the signal that has asked for the stop.
  /// - Throws: `End`.
  package func run(
    _ manifest: String, root: String?, _ stopper: StopController,
    interrupter: @escaping @Sendable () -> String
  ) async throws {
    let environment = context.environment
    try settings.checkApart(from: manifest)
    let reports = ReportSink(
      targets: settings.reports, json: settings.json, state: state, context: context)
    let file: ManifestFile
    do {
      file = try await stopper.race {
        try await DedicatedThread.run { try ManifestFile(manifest, environment, root: root) }
      }
    } catch {
      let stopped = (error as? StopController.Stopped).map { Self.stopped($0.cause, by: interrupter()) }
      guard let end = stopped ?? (error as? End), end.status != .usage else { throw error }
      // The state may know its job all the same: whoever waits for it is told.
      let file = ManifestFile(unreadable: manifest, environment)
      reports.writeEnd(of: end, job: nil, file: file)
      await EarlyEnd(file, settings, state: state, reports: reports).tell(end.status, of: nil, stopper)
      throw end
    }
    let (begun, ended) = (OnceValue<RunRecord>(), OnceValue<Void>())
    let early = EarlyEnd(file, settings, state: state, reports: reports)
    do {
      do {
        if try await run(file, stopper, reports, begun, ended) { return }
        await early.tell(.success, isSkipped: true, of: nil, stopper)
      } catch let stopped as StopController.Stopped { throw Self.stopped(stopped.cause, by: interrupter()) }
    } catch let end as End {
      guard ended.value == nil else { throw end }
      let begun = begun.value
      let job = file.read(overrides: begun?.overrides ?? [:]).readable
      reports.writeEnd(of: end, job: job, file: file, begun)
      await early.tell(end.status, of: begun, stopper)
      throw end
    }
  }

  /// - Returns: false where another runner has the job, and that is no failure.
  private func run(
    _ file: ManifestFile, _ stopper: StopController, _ reports: ReportSink, _ begun: OnceValue<RunRecord>,
    _ ended: OnceValue<Void>
  ) async throws -> Bool {
    try self.settings.checkWritable()
    let began = SystemClock.uptime
    var settings = try await withIDs(stopper)
    guard let opened = try await open(file, settings, stopper, reports) else { return false }
    // The opening is of the attempt's time, but for a deadline that leaves a run none.
    let opening = SystemClock.uptime - began
    settings.deadline = settings.deadline.map { max($0 - opening, min($0, 1)) }
    let session = RunSession(
      opened: opened, state: state, settings: settings, context: context, reports: reports, opening: opening,
      begun: begun, ended: ended)
    do { try await session.run(stopper) } catch { throw RunSession.end(error) }
    return true
  }

  /// Seconds that an opening has, whatever the deadline.
  private static let leastOpening = 5.0

  /// - Throws: `StopController.Stopped`, also at the deadline: a listing, or another run's end, may be long in coming.
  private func open(
    _ file: ManifestFile, _ settings: RunSettings, _ stopper: StopController, _ reports: ReportSink
  ) async throws -> JobOpening? {
    let state = state
    let timer = settings.deadline.map { deadline in
      Task {
        try await Task.sleep(for: .seconds(max(deadline, Self.leastOpening)))
        stopper.stop(.deadline)
      }
    }
    defer { timer?.cancel() }
    return try await stopper.race {
      try await JobOpening.openApart(file, settings, state: state, reports: reports)
    }
  }

  private static func stopped(_ cause: StopCause, by signal: String) -> End {
    End(
      .incomplete,
      "\(cause == .deadline ? "`--deadline`" : signal) stopped the run before its first transfer",
      hint: "run the same command again")
  }

  /// The settings with the list of `--only-from`, which may come slowly.
  private func withIDs(_ stopper: StopController) async throws -> RunSettings {
    guard let path = settings.idsPath else { return settings }
    let ids = try await stopper.race { try await DedicatedThread.run { try IDList(path) } }
    var settings = settings
    (settings.ids, settings.selection) = (ids, .ids(sha256: ids.sha256))
    return settings
  }
}
