import ArgumentParser
import Glibc
import HaulCore
import JobModel

struct RunCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Runs a job: continues a run that was stopped, else starts a new one; writes its report.")

  @Argument(help: "The manifest; `-` is standard input.", completion: .manifests)
  var manifest: String

  @OptionGroup var input: InputOptions
  @OptionGroup var options: RunOptions
  @OptionGroup var part: ShardOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    guard manifest != "-" || options.onlyFrom != "-" else {
      throw End(.usage, "the manifest and `--only-from` are both read from standard input")
    }
    let state = try part.state(common)
    let stopper = StopController()
    let signal = OnceValue<Int32>()
    let signals = Signals { number in
      signal.set(number)
      stopper.interrupt()
    }
    defer { withExtendedLifetime(signals) {} }
    let run = JobRun(try options.settings(common), state: state, context: CurrentProcess.context)
    try await run.run(manifest, root: input.root, stopper) { Signals.name(signal.value ?? SIGTERM) }
  }
}
