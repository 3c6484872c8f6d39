import Endpoints
import Glibc
import JobLedger
import JobManifest
import JobModel
import Posix
import Reporting
import TransferEngine

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

  /// - Parameter interrupter: the name of the signal that has asked for the stop.
  /// - Throws: `End`.
  package func run(
    _ manifest: String, _ stopper: StopController, interrupter: @escaping @Sendable () -> String
  ) async throws {
    let environment = context.environment
    let file = try await stopper.race {
      try await DedicatedThread.run { try ManifestFile(manifest, environment) }
    }
    do { try await run(file, stopper) } catch is StopController.Stopped {
      let message = "\(interrupter()) stopped the run before its first transfer"
      try reports.writeEnd(
        job: file.read(overrides: [:]).readable, file: file, outcome: .incomplete, status: .incomplete,
        diagnostics: [Diagnostic(.error, message)])
      throw End(.incomplete, message, hint: "run the same command again")
    }
  }

  private var reports: ReportSink {
    ReportSink(path: settings.report, json: settings.json, context: context)
  }

  private func run(_ file: ManifestFile, _ stopper: StopController) async throws {
    try checkWritable()
    let (settings, state, reports) = (settings, state, reports)
    let opened = try await stopper.race {
      try await JobOpening.openApart(file, settings, state: state, reports: reports)
    }
    guard let opened else { return }
    let session = RunSession(
      opened: opened, state: state, settings: settings, context: context, reports: reports)
    do { try await session.run(stopper) } catch let error as LedgerError {
      throw End(error)
    } catch let failure as Failure {
      throw End(.failed, "\(failure.code.rawValue): \(failure.message)", hint: failure.code.hint)
    }
  }

  /// A report or an events file that can't be written is known before anything is moved.
  private func checkWritable() throws {
    for path in [settings.report, settings.events].compactMap({ $0 }) where path != "-" {
      let folder = PathParts(Paths.absolute(path)).parent
      let target = Files.exists(path) ? path : folder
      if Files.isFolder(path) {
        throw End(.cannotCreate, OutputFileError(path, errno: EISDIR).description)
      }
      guard access(target, W_OK) == 0 else {
        throw End(.cannotCreate, OutputFileError(path, errno: errno).description)
      }
    }
  }
}
