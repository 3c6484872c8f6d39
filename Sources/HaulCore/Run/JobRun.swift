import Endpoints
import JobLedger
import JobManifest
import JobModel
import Posix

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
      let stopped = error is StopController.Stopped ? Self.stopped(by: interrupter()) : nil
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
      } catch is StopController.Stopped { throw Self.stopped(by: interrupter()) }
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
    let state = state
    let settings = try await withIDs(stopper)
    let opened = try await stopper.race {
      try await JobOpening.openApart(file, settings, state: state, reports: reports)
    }
    guard let opened else { return false }
    let session = RunSession(
      opened: opened, state: state, settings: settings, context: context, reports: reports, begun: begun,
      ended: ended)
    do { try await session.run(stopper) } catch { throw RunSession.end(error) }
    return true
  }

  private static func stopped(by signal: String) -> End {
    End(
      .incomplete, "\(signal) stopped the run before its first transfer",
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
