import ArgumentParser
import HaulCore
import JobModel

struct PlanCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "plan",
    abstract: "Shows what a run would do, compared with what is on record; changes nothing.")

  @Argument(help: "The manifest.", completion: .manifests)
  var manifest: String

  @Option(name: .customLong("set"), help: ArgumentHelp("A value for ${var.NAME}.", valueName: "NAME=VALUE"))
  var overrides: [String] = []

  @Flag(help: "Every transfer, those that are up to date too.")
  var all = false

  @Flag(help: "Ask the servers for what is not known.")
  var probe = false

  @Flag(help: "Take over a job that the state knows from another manifest's path.")
  var adopt = false

  @OptionGroup var part: ShardOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    guard manifest != "-" else {
      throw End(
        .usage, "a job is planned from a file, not from standard input",
        hint: "`haul check -` and `haul run -` read standard input")
    }
    let state = try part.state(common)
    let file = try ManifestFile(manifest, CurrentProcess.environment)
    try await PlanOutput(file, state, CurrentProcess.context).write(
      overrides: try Overrides.parse(overrides), adopt: adopt, probes: probe, showsAll: all, json: common.json
    )
  }
}
