import ArgumentParser
import HaulCore
import Reporting

struct CheckCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "check", abstract: "Reports every fault of a manifest; touches neither network nor state.")

  @Argument(help: "The manifest; `-` is standard input.", completion: .manifests)
  var manifest: String

  @Option(name: .customLong("set"), help: ArgumentHelp("A value for ${var.NAME}.", valueName: "NAME=VALUE"))
  var overrides: [String] = []

  @OptionGroup var input: InputOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    let (console, environment) = (CurrentProcess.console, CurrentProcess.environment)
    let file = try ManifestFile(manifest, environment, root: input.root)
    let check = try ManifestCheck(
      file, overrides: try Overrides.parse(overrides), sparing: common.stateFolder)
    console.print(check.diagnostics)
    if common.json { try check.writeJSON(to: console.out) }
    if let end = check.end { throw end }
    guard !common.json, !common.quiet else { return }
    console.out("`\(manifest)` is valid: \(Figures.count(check.transfers, "transfer"))\n")
  }
}
