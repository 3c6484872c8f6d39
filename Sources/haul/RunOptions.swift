import ArgumentParser
import JobModel

/// What only `run` takes.
struct RunOptions: ParsableArguments {
  @Option(help: "Where the report is written as well; `-` is standard output.")
  var report: String?

  @Option(help: "Where events are appended as JSON lines; `-` is standard output.")
  var events: String?

  @Option(name: .customLong("set"), help: ArgumentHelp("A value for ${var.NAME}.", valueName: "NAME=VALUE"))
  var overrides: [String] = []

  @Flag(help: "Start a new run even where one is unfinished.")
  var newRun = false

  @Flag(help: "Take over a job that the state knows from another manifest's path.")
  var adopt = false

  @Option(
    name: .customLong("only"),
    help: ArgumentHelp("Only these transfers: an id, or a glob of ids.", valueName: "glob"))
  var onlyGlobs: [String] = []

  var only: String? { onlyGlobs.first }

  @Option(help: "With `strict`, missing or changed sources stop the run before it starts.")
  var precheck = Precheck.warn

  @Option(help: "What to do where the job is running already: fail, wait or skip.")
  var ifRunning = IfRunning.fail

  @Option(help: ArgumentHelp("Stop after so long, resumable: 90s, 30m, 6h.", valueName: "duration"))
  var deadline: String?

  @Flag(help: "End with 75 rather than wait for a policy's window or network.")
  var noWait = false

  @Flag(help: "Stop at the first transfer that fails for good.")
  var failFast = false

  @Option(help: "With `full`, read everything that was recorded again before it counts.")
  var resumeCheck = ResumeCheck.quick

  enum Precheck: String, ExpressibleByArgument, CaseIterable { case warn, strict }
  enum IfRunning: String, ExpressibleByArgument, CaseIterable { case fail, wait, skip }
  enum ResumeCheck: String, ExpressibleByArgument, CaseIterable { case quick, full }
}
