import ArgumentParser
import Foundation
import JobLedger
import JobModel
import Reporting

struct StatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Shows where jobs stand: states, bytes, reasons.")

  @Argument(help: "A manifest, or a job's name; all jobs where left out.")
  var job: String?

  @Flag(help: "Go on showing it, until the job no longer runs.")
  var watch = false

  @OptionGroup var common: CommonOptions

  func run() async throws {
    let state = common.stateFolder
    let names = try job.map { [try state.resolve($0)] } ?? state.jobs
    if names.isEmpty {
      Terminal.talk("haul: no job has state in `\(state.path)`\n")
      return
    }
    // Several reports together are one JSON array.
    let isList = common.json && job == nil
    if isList { Terminal.out("[") }
    for (index, name) in names.enumerated() {
      if isList, index > 0 { Terminal.out(",\n") }
      let ledger = try state.open(name)
      do {
        while true {
          let isRunning = try state.isRunning(name)
          try show(name, ledger, isRunning: isRunning)
          guard watch, isRunning else { break }
          try await Task.sleep(for: .seconds(1))
        }
      } catch let error as LedgerError {
        throw End(.cannotCreate, error.description)
      }
    }
    if isList { Terminal.out("]\n") }
  }

  private func show(_ name: String, _ ledger: JobLedger, isRunning: Bool) throws {
    // A runner that died leaves `running` behind; only a lock that is held makes it true.
    if !isRunning, let lock = try RunLock.take(common.stateFolder.folder(name), waiting: false) {
      try ledger.settleInterrupted()
      withExtendedLifetime(lock) {}
    }
    let head = try ReportSink.head(name, ledger, try ledger.lastRun())
    if common.json {
      try ReportWriter(head, ledger: ledger, describe: try WireNames(ledger).describe).write {
        Terminal.out($0)
      }
    } else {
      let clear = watch && Terminal.isTerminal(STDOUT_FILENO) ? "\u{1b}[H\u{1b}[2J" : ""
      let text = try StatusText(head, ledger: ledger, isColoured: Terminal.colours(STDOUT_FILENO))
        .text(now: Date().timeIntervalSince1970)
      Terminal.out(clear + text)
    }
  }
}
