import ArgumentParser
import HaulCore
import JobModel
import Reporting

struct PauseCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "pause", abstract: "Pauses transfers until `resume`, now and in later runs.")
  @OptionGroup var target: ControlTarget
  var control: Control { Control(.pause, ids: target.ids) }
}

struct ResumeCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "resume", abstract: "Lets paused transfers go on, now or in the next run.")
  @OptionGroup var target: ControlTarget
  var control: Control { Control(.resume, ids: target.ids) }
}

struct CancelCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "cancel",
    abstract: "Gives transfers up: ends their remote sessions, removes their partial files.")
  @OptionGroup var target: ControlTarget
  var control: Control { Control(.cancel, ids: target.ids) }
}

struct RetryCommand: ControlCommand {
  static let configuration = CommandConfiguration(
    commandName: "retry", abstract: "Puts failed, canceled or paused transfers back in the queue.")
  @OptionGroup var target: ControlTarget
  @Flag(help: "Forget what was moved so far; of complete transfers, only those that are named.")
  var fromScratch = false
  var control: Control { Control(.retry, ids: target.ids, fromScratch: fromScratch) }
}

/// Which job and which of its transfers a control speaks of.
struct ControlTarget: ParsableArguments {
  @Argument(help: "A manifest, or a job's name.", completion: .jobs)
  var job: String

  @Argument(
    help: "Ids with what lies below them, or globs; all transfers where left out.", completion: .ids)
  var ids: [String] = []

  @OptionGroup var part: ShardOptions
  @OptionGroup var common: CommonOptions
}

protocol ControlCommand: AsyncParsableCommand {
  var target: ControlTarget { get }
  var control: Control { get }
}

extension ControlCommand {
  func run() async throws {
    let (state, console) = (try target.part.state(target.common), CurrentProcess.console)
    let request = try ControlRequest(control, state, CurrentProcess.context)
    let name = try state.resolve(target.job, CurrentProcess.environment)
    let stopper = StopController()
    let signals = Signals { _ in stopper.interrupt() }
    defer { withExtendedLifetime(signals) {} }
    let changed = try await request.apply(to: name, stopper)
    if target.common.json {
      console.out(JSON.object([.init("job", .string(name)), .init("changed", .int(changed))]).text + "\n")
    } else {
      console.note("\(control.verb.rawValue): \(Figures.count(changed, "transfer")) of `\(name)`")
    }
    await target.common.sendOwedNotices(of: [JobState(name, in: state)])
  }
}
