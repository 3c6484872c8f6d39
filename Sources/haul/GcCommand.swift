import ArgumentParser
import HaulCore
import JobModel

struct GcCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "gc",
    abstract: "Removes old runs, orphaned partial files and orphaned remote sessions, and says which.")

  @Argument(help: "A manifest, or a job's name; all jobs where left out.", completion: .jobs)
  var job: String?

  @Flag(help: "Only say what would be removed.")
  var dryRun = false

  @Option(help: "How many of the newest runs are kept; the last one always is.")
  var keep = 30

  @OptionGroup var part: ShardOptions
  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard keep >= 0 else { throw ValidationError("`--keep` must be 0 or more") }
  }

  func run() async throws {
    let console = CurrentProcess.console
    let state = try part.state(common).checked()
    let cleanup = StateCleanup(CurrentProcess.context, keeping: keep, isDryRun: dryRun)
    let states = try job.map { try state.states(ofNamed: $0, CurrentProcess.environment) } ?? state.everyState
    await common.sendOwedNotices(of: states)
    // What a dry run says is all that it is asked for.
    let isTold = !common.json && (dryRun || !common.quiet)
    let result = try await cleanup.run(states, sweeping: state) { item in
      if isTold { console.out(item.text(isDryRun: dryRun)) }
    }
    if common.json {
      console.out(result.json(isDryRun: dryRun).text + "\n")
    } else if isTold, result.isNothing {
      console.out("nothing to remove\n")
    }
    if let end = result.end { throw end }
  }
}
