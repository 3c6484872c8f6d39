import ArgumentParser
import HaulCore
import JobModel

struct StatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Shows where jobs stand: states, bytes, reasons.")

  @Argument(help: "A manifest, or a job's name; all jobs where left out.", completion: .jobs)
  var job: String?

  @Flag(help: "With --json: totals alone, without the transfers.")
  var summary = false

  @Flag(help: "Go on showing it, until the job no longer runs; of all jobs, one after the other.")
  var watch = false

  @OptionGroup var part: ShardOptions
  @OptionGroup var common: CommonOptions

  func validate() throws {
    guard !watch || !common.json || job != nil else {
      throw ValidationError("`--watch --json` follows one job: name it")
    }
  }

  func run() async throws {
    let state = try part.state(common).checked()
    let status = JobStatus(CurrentProcess.console, json: common.json, isSummary: summary, watches: watch)
    let states: [JobState]
    if let job {
      let named = try state.named(job, CurrentProcess.environment)
      states = named.states
      switch named {
      case .one(let one): try await status.show(one)
      case .parts(let parts):
        guard !watch else {
          throw End(
            .usage, "`--watch` follows one shard of the job `\(job)`",
            hint: parts.first?.state.shard.map { "name one, like `--shard \($0.text)`" })
        }
        try await status.show(all: parts, isBrief: true)
      }
    } else {
      states = state.everyState
      if states.isEmpty { CurrentProcess.console.note("no job has state in `\(state.path)`") }
      try await status.show(all: states, isBrief: state.shard == nil)
    }
    await common.sendOwedNotices(of: states)
  }
}
