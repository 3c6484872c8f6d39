import ArgumentParser
import Foundation
import JobLedger
import JobManifest
import JobModel
import Reporting
import TransferEngine

struct RunCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Runs a job: continues a run that was stopped, else starts a new one; writes its report.")

  @Argument(help: "The manifest.")
  var manifest: String

  @OptionGroup var options: RunOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    let stopper = Stopper()
    let signal = Latch<Int32>()
    let signals = Signals { number in
      signal.set(number)
      stopper.stop(.interrupted)
    }
    defer { withExtendedLifetime(signals) {} }
    let manifest = manifest
    let file = try await stopper.race { try await OwnThread.run { try ManifestFile(manifest) } }
    do { try await run(file, stopper) } catch is Stopper.Stopped {
      let message = "\(Signals.name(signal.value ?? SIGTERM)) stopped the run before its first transfer"
      try ReportSink(path: options.report, json: common.json).writeEnd(
        job: file.read(overrides: [:]).readable, file: file, outcome: .incomplete, status: .incomplete,
        diagnostics: [Diagnostic(.error, message)])
      throw End(.incomplete, message, hint: "run the same command again")
    }
  }

  private func run(_ file: ManifestFile, _ stopper: Stopper) async throws {
    let deadline = try options.deadline.map { text in try value("--deadline") { try Units.duration(text) } }
    if let deadline, deadline <= 0 {
      throw End(.usage, "`--deadline` must be longer than 0", hint: "like `90s`, `30m` or `6h`")
    }
    guard options.onlyGlobs.count < 2 else {
      throw End(
        .usage, "`--only` is given \(options.onlyGlobs.count) times",
        hint: "write one glob for all: `--only '{\(options.onlyGlobs.joined(separator: ","))}'`")
    }
    let scope = try options.only.map { text in try value("--only") { try Selection(text) } }
    try checkWritable()
    let reports = ReportSink(path: options.report, json: common.json)
    let given = try Overrides.parse(options.overrides)
    let (state, options) = (common.stateFolder, options)
    let opened = try await stopper.race {
      try await JobOpening.openApart(
        file, given: given, state: state, adopt: options.adopt, startsNew: options.newRun,
        only: options.only, ifRunning: options.ifRunning, reports: reports)
    }
    guard let opened else { return }
    let session = RunSession(
      opened: opened, state: common.stateFolder, options: options, common: common, reports: reports,
      scope: scope,
      deadline: deadline)
    do { try await session.run(stopper) } catch let error as LedgerError {
      throw End(.cannotCreate, error.description)
    } catch let failure as Failure {
      throw End(.failed, "\(failure.code.rawValue): \(failure.message)", hint: failure.code.hint)
    }
  }

  private func value<Value>(_ option: String, _ read: () throws -> Value) throws -> Value {
    do { return try read() } catch let fault as ValueFault {
      throw End(.usage, "`\(option)`: \(fault.message)", hint: fault.hint)
    }
  }

  /// A report or an events file that can't be written is known before anything is moved.
  private func checkWritable() throws {
    for path in [options.report, options.events].compactMap({ $0 }) where path != "-" {
      let folder = (Paths.absolute(path) as NSString).deletingLastPathComponent
      let target = FileManager.default.fileExists(atPath: path) ? path : folder
      var isFolder: ObjCBool = false
      if FileManager.default.fileExists(atPath: path, isDirectory: &isFolder), isFolder.boolValue {
        throw End(.cannotCreate, OutputFileError(path, errno: EISDIR).description)
      }
      guard access(target, W_OK) == 0 else {
        throw End(.cannotCreate, OutputFileError(path, errno: errno).description)
      }
    }
  }
}
