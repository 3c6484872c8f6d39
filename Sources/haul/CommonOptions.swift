import ArgumentParser
import HaulCore
import Posix

/// What every command takes.
struct CommonOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "Where state is kept.",
      discussion: "Default: $HAUL_STATE_DIR, $XDG_STATE_HOME/haul, ~/.local/state/haul."),
    completion: .directory)
  var stateDir: String?

  @Flag(help: "Machine output on standard output.")
  var json = false

  @Option(help: "What is logged on standard error: debug, info, warning or error.")
  var logLevel = LogSettings.Level.warning

  @Option(help: "How it is logged: text, json or journal (systemd's priorities).")
  var logFormat = LogSettings.Format.text

  @Flag(help: "No progress on standard error.")
  var noProgress = false

  @Flag(help: "Nothing on success but what was asked for; on failure the summary alone.")
  var quiet = false

  func validate() throws {
    // `--state-dir "$DIR"` without the variable is not to mean the working folder.
    guard stateDir != "" else {
      throw ValidationError("`--state-dir` is empty: name a folder, or leave it out")
    }
  }

  var stateFolder: StateFolder { StateFolder(given: stateDir, CurrentProcess.environment) }

  /// Sends what runs of the jobs have left to be told.
  func sendOwedNotices(of states: [JobState]) async {
    await OwedNotices(CurrentProcess.context).deliver(for: states)
  }
}

extension LogSettings.Level: ExpressibleByArgument {}
extension LogSettings.Format: ExpressibleByArgument {}
