import ArgumentParser
import Glibc
import HaulCore

struct RunCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "run",
    abstract: "Runs a job: continues a run that was stopped, else starts a new one; writes its report.")

  @Argument(help: "The manifest.")
  var manifest: String

  @OptionGroup var options: RunOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    let stopper = StopController()
    let signal = OnceValue<Int32>()
    let signals = Signals { number in
      signal.set(number)
      stopper.interrupt()
    }
    defer { withExtendedLifetime(signals) {} }
    let run = JobRun(try options.settings(common), state: common.stateFolder, context: CurrentProcess.context)
    try await run.run(manifest, stopper) { Signals.name(signal.value ?? SIGTERM) }
  }
}
