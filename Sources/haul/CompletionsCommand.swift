import ArgumentParser
import HaulCore

struct CompletionsCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "completions", abstract: "Prints a completion script for a shell.",
    discussion: """
      bash: `source <(haul completions bash)` in ~/.bashrc. zsh: save it as `_haul` in a folder of $fpath. fish: save it as \
      ~/.config/fish/completions/haul.fish. Names of jobs and ids of transfers are completed from the state.
      """)

  @Argument(help: "bash, zsh or fish.")
  var shell: Shell

  @OptionGroup var common: CommonOptions

  enum Shell: String, ExpressibleByArgument, CaseIterable { case bash, zsh, fish }

  func run() {
    guard let shell = CompletionShell(rawValue: shell.rawValue) else { return }
    CurrentProcess.console.out(Haul.completionScript(for: shell) + "\n")
  }
}
