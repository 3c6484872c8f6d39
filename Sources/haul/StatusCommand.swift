import ArgumentParser
import HaulCore

struct StatusCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "status", abstract: "Shows where jobs stand: states, bytes, reasons.")

  @Argument(help: "A manifest, or a job's name; all jobs where left out.", completion: .jobs)
  var job: String?

  @Flag(help: "With --json: totals alone, without the transfers.")
  var summary = false

  @Flag(help: "Go on showing it, until the job no longer runs.")
  var watch = false

  @OptionGroup var common: CommonOptions

  func run() async throws {
    let state = try common.stateFolder.checked()
    let names = try common.jobs(job, in: state)
    let status = JobStatus(
      state, CurrentProcess.console, json: common.json, isSummary: summary, watches: watch)
    if job != nil {
      for name in names { try await status.show(name) }
    } else if names.isEmpty {
      CurrentProcess.console.note("no job has state in `\(state.path)`")
    } else {
      try await status.show(all: names)
    }
    await common.sendOwedNotices(of: names)
  }
}
