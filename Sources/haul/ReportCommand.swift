import ArgumentParser
import HaulCore
import Reporting

struct ReportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "report", abstract: "Prints a run's report again, from the state.")

  @Argument(help: "A manifest, or a job's name.", completion: .jobs)
  var job: String

  @Option(name: .customLong("run"), help: "The run's number; the last one where left out.")
  var number: Int?

  @Option(help: "The report's form; by the suffix of --output where left out, else text.")
  var format: ReportForm?

  @Option(
    help: ArgumentHelp("A file to write it to, whole or not at all.", valueName: "file"), completion: .file())
  var output: String?

  @Flag(help: "Every transfer of a very long plan, too.")
  var all = false

  @Flag(help: "Only transfers that did not complete.")
  var failed = false

  @Flag(help: "Only the ids, one a line, as `haul run --only-from` takes them: `--format ids`.")
  var ids = false

  @OptionGroup var common: CommonOptions

  func run() async throws {
    let state = common.stateFolder
    let name = try state.resolve(job, CurrentProcess.environment)
    try RunRecords(name, state).writeReport(
      number, to: target, includesAll: all, isOfRest: failed, console: CurrentProcess.console)
    await common.sendOwedNotices(of: [name])
  }

  private var target: ReportTarget {
    let form = format ?? (ids ? .ids : common.json ? .json : output.flatMap(ReportForm.init(path:)))
    return ReportTarget(output ?? "-", as: form ?? .text)
  }
}

extension ReportForm: ExpressibleByArgument {}
