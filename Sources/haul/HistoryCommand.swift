import ArgumentParser
import HaulCore

struct HistoryCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "history", abstract: "Lists a job's runs, newest first.")

  @Argument(help: "A manifest, or a job's name.", completion: .jobs)
  var job: String

  @Option(help: "How many runs at the most.")
  var limit = 100

  @OptionGroup var part: ShardOptions
  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard limit >= 1 else { throw ValidationError("`--limit` must be 1 or more") }
  }

  func run() async throws {
    let state = try part.state(common)
    let name = try state.resolve(job, CurrentProcess.environment)
    try RunRecords(name, state).writeHistory(limit: limit, json: common.json, to: CurrentProcess.console)
    await common.sendOwedNotices(of: [JobState(name, in: state)])
  }
}
