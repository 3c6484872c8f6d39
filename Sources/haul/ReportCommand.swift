import ArgumentParser
import Foundation
import JobLedger
import JobModel
import Reporting

struct ReportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "report", abstract: "Prints a run's report again, from the state.")

  @Argument(help: "A manifest, or a job's name.")
  var job: String

  @Option(name: .customLong("run"), help: "The run's number; the last one where left out.")
  var number: Int?

  @Option(help: "json or text.")
  var format = Format.text

  @Flag(help: "Every transfer of a very long plan, too.")
  var all = false

  @OptionGroup var common: CommonOptions

  enum Format: String, ExpressibleByArgument, CaseIterable { case json, text }

  func run() async throws {
    let state = common.stateFolder
    let name = try state.resolve(job)
    let ledger = try state.openSettled(name)
    do {
      guard let last = try ledger.lastRun() else { throw End(.noInput, "the job `\(name)` has not run yet") }
      let wanted = number ?? last.number
      let isJSON = format == .json || common.json
      if wanted == last.number {
        let head = try ReportSink.head(name, ledger, last)
        if isJSON {
          try ReportSink.writer(head, ledger, includesAll: all).write { Terminal.out($0) }
        } else {
          Terminal.out(
            try ReportText(head, ledger: ledger, isColoured: Terminal.colours(STDOUT_FILENO)).text())
        }
        return
      }
      try printOld(wanted, name, ledger, state, isJSON: isJSON)
    } catch let error as LedgerError {
      throw End(.cannotCreate, error.description)
    }
  }

  /// The plan has moved on since an older run: its report is the stored one.
  private func printOld(
    _ wanted: Int, _ name: String, _ ledger: JobLedger, _ state: StateFolder, isJSON: Bool
  ) throws {
    guard let run = try ledger.run(number: wanted) else {
      throw End(
        .noInput, "the job `\(name)` has no run \(wanted)", hint: "`haul history \(name)` lists its runs")
    }
    guard isJSON else {
      Terminal.out(History(job: name, runs: [run]).text)
      Terminal.note("the details of an older run are in its JSON: `--format json`")
      return
    }
    guard let bytes = FileManager.default.contents(atPath: state.folder(name) + "/reports/\(run.id).json")
    else {
      throw End(.noInput, "the report of run \(wanted) is no longer kept", hint: "the newest 30 reports are")
    }
    Terminal.out(Array(bytes))
  }
}
