import ArgumentParser
import HaulCore

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
    try RunRecords(try state.resolve(job, CurrentProcess.environment), state).writeReport(
      number, json: format == .json || common.json, includesAll: all, to: CurrentProcess.console)
  }
}
