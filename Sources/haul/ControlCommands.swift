import ArgumentParser
import Foundation
import JobLedger
import JobManifest
import JobModel
import TransferEngine

struct PauseCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "pause", abstract: "Pauses transfers until `resume`, now and in later runs.")
  @OptionGroup var target: ControlTarget
  var control: Control { Control(.pause, ids: target.ids) }
}

struct ResumeCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "resume", abstract: "Lets paused transfers go on, now or in the next run.")
  @OptionGroup var target: ControlTarget
  var control: Control { Control(.resume, ids: target.ids) }
}

struct CancelCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "cancel",
    abstract: "Gives transfers up: ends their remote sessions, removes their partial files.")
  @OptionGroup var target: ControlTarget
  var control: Control { Control(.cancel, ids: target.ids) }
}

struct RetryCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "retry", abstract: "Puts failed, canceled or paused transfers back in the queue.")
  @OptionGroup var target: ControlTarget
  @Flag(help: "Forget what was moved so far.")
  var fromScratch = false
  var control: Control { Control(.retry, ids: target.ids, fromScratch: fromScratch) }
}

/// Which job and which of its transfers a control speaks of.
struct ControlTarget: ParsableArguments {
  @Argument(help: "A manifest, or a job's name.")
  var job: String

  @Argument(help: "Ids, or globs of ids; all transfers where left out.")
  var ids: [String] = []

  @OptionGroup var common: CommonOptions
}

/// A wish, brought to the running job or, where none runs, to its ledger.
protocol ControlCommand: AsyncParsableCommand {
  var target: ControlTarget { get }
  var control: Control { get }
}

extension ControlCommand {
  func run() async throws {
    for id in target.ids {
      do { _ = try GlobPattern(id) } catch {
        throw End(.usage, "`\(id)` is neither an id nor a glob of ids: \(error.message)", hint: error.hint)
      }
    }
    let state = target.common.stateFolder
    let name = try state.resolve(target.job)
    let ledger = try state.open(name)
    let changed: Int
    do {
      let unknown = try ledger.unknown(target.ids)
      guard unknown.isEmpty else {
        throw End(
          .noInput,
          "the job `\(name)` has no transfer \(unknown.map { "`\($0)`" }.joined(separator: ", ")): nothing was changed",
          hint: (unknown.contains { $0.contains("*") } ? "a glob's `*` ends at `/`, `**` does not; " : "")
            + "`haul status \(name) --json` lists the ids")
      }
      if let lock = try RunLock.take(state.folder(name), waiting: false) {
        defer { withExtendedLifetime(lock) {} }
        changed = try await atRest(name, ledger)
      } else {
        changed = try await inTheRun(ledger)
      }
    } catch let error as LedgerError {
      throw End(.cannotCreate, error.description)
    }
    if target.common.json {
      Terminal.out(JSON.object([.init("job", .string(name)), .init("changed", .int(changed))]).text + "\n")
    } else {
      let noun = changed == 1 ? "transfer" : "transfers"
      Terminal.note("\(control.verb.rawValue): \(changed) \(noun) of `\(name)`")
    }
  }

  /// The running `haul run` looks for wishes a few times a second.
  private func inTheRun(_ ledger: JobLedger) async throws -> Int {
    try await Controls.answer(
      try ledger.request(control, at: Date().timeIntervalSince1970), ledger)
  }

  private func atRest(_ name: String, _ ledger: JobLedger) async throws -> Int {
    try ledger.settleInterrupted()
    guard let path = try ledger.meta("manifest"), let file = try? ManifestFile(path),
      let job = file.read(overrides: try ledger.lastRun()?.overrides ?? [:]).job
    else {
      throw End(
        .noInput, "the manifest of `\(name)` can't be read any more",
        hint:
          "its endpoints are needed to end remote sessions; put it back, or run with --adopt from its new place"
      )
    }
    let writer = LedgerWriter(ledger) { _ in }
    let setUp = try EngineSetUp(
      job: job, stateFolder: target.common.stateFolder.folder(name), ledger: ledger, writer: writer,
      run: try ledger.lastRun()?.number ?? 0, board: LiveBoard(),
      events: DiagnosticText.tell)
    defer { setUp.shutDown() }
    let changed = try await ControlShell.applyAtRest(control, context: setUp.context)
    try writer.close()
    return changed
  }
}

enum Controls {
  /// Waits until the running job has applied a wish, and gives how many transfers it changed.
  @discardableResult
  static func answer(_ number: Int64, _ ledger: JobLedger) async throws -> Int {
    for _ in 0..<100 {
      if let changed = try ledger.controlResult(number) { return changed }
      try await Task.sleep(for: .milliseconds(50))
    }
    throw End(
      .incomplete, "the running job has not answered within 5 s; the wish is recorded and will be applied")
  }
}
