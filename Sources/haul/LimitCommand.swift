import ArgumentParser
import HaulCore
import JobModel

struct LimitCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "limit",
    abstract: "Sets a job's bandwidth, now and in later runs, until `default` gives it back to its policies.")

  @Argument(help: "A manifest, or a job's name.", completion: .jobs)
  var job: String

  @Argument(help: "Bytes a second, each way (5MB/s, 512KiB/s), `unlimited`, or `default`.")
  var rate: String

  @OptionGroup var part: ShardOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    let (state, console) = (try part.state(common), CurrentProcess.console)
    let request = try LimitRequest(rate)
    let name = try state.resolve(job, CurrentProcess.environment)
    let isRunning = try await request.apply(to: name, state)
    if common.json {
      console.out(request.json(name, isRunning: isRunning).text + "\n")
    } else {
      console.note(request.text(name, isRunning: isRunning))
    }
    await common.sendOwedNotices(of: [JobState(name, in: state)])
  }
}
