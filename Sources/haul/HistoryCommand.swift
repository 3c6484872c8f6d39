import ArgumentParser
import JobLedger
import JobModel
import Reporting

struct HistoryCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "history", abstract: "Lists a job's runs, newest first.")

  @Argument(help: "A manifest, or a job's name.")
  var job: String

  @Option(help: "How many runs at the most.")
  var limit = 100

  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard limit >= 1 else { throw ValidationError("`--limit` is 1 or more") }
  }

  func run() async throws {
    let state = common.stateFolder
    let name = try state.resolve(job)
    do {
      let history = History(job: name, runs: try state.openSettled(name).runs(limit: limit))
      if common.json {
        try history.writeJSON(toolVersion: Haul.version) { Terminal.out($0) }
      } else {
        Terminal.out(history.text)
      }
    } catch let error as LedgerError {
      throw End(.cannotCreate, error.description)
    }
  }
}
