import ArgumentParser
import HaulCore
import JobModel

/// What only `run` takes.
struct RunOptions: ParsableArguments {
  @Option(
    name: .customLong("report"),
    help: ArgumentHelp(
      "Where the report is written as well; `-` is standard output. May be given several times.",
      discussion: """
        In the form of its suffix: .jsonl, .csv, .html, .xml (JUnit), .prom (Prometheus), .sha256sums, .ids, .txt; \
        else as JSON.
        """, valueName: "path"), completion: .file())
  var reports: [String] = []

  @Option(
    help: ArgumentHelp("A file for metrics in Prometheus' text format.", valueName: "file"),
    completion: .file())
  var metrics: String?

  @Option(help: "Where events are appended as JSON lines; `-` is standard output.", completion: .file())
  var events: String?

  @Option(name: .customLong("set"), help: ArgumentHelp("A value for ${var.NAME}.", valueName: "NAME=VALUE"))
  var overrides: [String] = []

  @Flag(help: "Start a new run even where one is unfinished.")
  var newRun = false

  @Flag(help: "Take over a job that the state knows from another manifest's path.")
  var adopt = false

  @Option(
    name: .customLong("only"),
    help: ArgumentHelp(
      "Only these transfers: an id with what lies below it, or a glob of ids.", valueName: "glob"),
    completion: .ids)
  var onlyGlobs: [String] = []

  @Option(
    help: ArgumentHelp(
      "Only the transfers with these ids, one a line; `-` is standard input.", valueName: "file"),
    completion: .file())
  var onlyFrom: String?

  @Flag(help: "Only what did not complete the last time.")
  var failed = false

  @Option(help: "With `strict`, missing or changed sources stop the run before it starts.")
  var precheck = RunSettings.Precheck.warn

  @Option(help: "What to do where the job is running already: fail, wait or skip.")
  var ifRunning = RunSettings.IfRunning.fail

  @Option(help: ArgumentHelp("Stop after so long, resumable: 90s, 30m, 6h.", valueName: "duration"))
  var deadline: String?

  @Flag(help: "End with 75 rather than wait for a policy's window or network.")
  var noWait = false

  @Flag(help: "Stop at the first transfer that fails for good.")
  var failFast = false

  @Option(help: "With `full`, read everything that was recorded again before it counts.")
  var resumeCheck = RunSettings.ResumeCheck.quick

  /// - Throws: `End` with 64 where a value can't be read.
  func settings(_ common: CommonOptions) throws -> RunSettings {
    var settings = RunSettings()
    settings.deadline = try deadline.map { text in
      try OptionValue.read("--deadline") { try Units.duration(text) }
    }
    if let deadline = settings.deadline, deadline <= 0 {
      throw End(.usage, "`--deadline` must be longer than 0", hint: "like `90s`, `30m` or `6h`")
    }
    guard onlyGlobs.count < 2 else {
      throw End(
        .usage, "`--only` is given \(onlyGlobs.count) times",
        hint: "write one glob for all: `--only '{\(onlyGlobs.joined(separator: ","))}'`")
    }
    guard [!onlyGlobs.isEmpty, onlyFrom != nil, failed].count(where: { $0 }) < 2 else {
      throw End(.usage, "`--only`, `--only-from` and `--failed` are given together", hint: "give one of them")
    }
    settings.selection = try onlyGlobs.first.map { text in
      try OptionValue.read("--only") { .only(try IDPattern(text)) }
    }
    settings.idsPath = onlyFrom
    if failed { settings.selection = .failed }
    settings.overrides = try Overrides.parse(overrides)
    (settings.events, settings.json) = (events, common.json)
    settings.reports =
      reports.map { ReportTarget($0) } + [metrics].compactMap(\.self).map(ReportTarget.metrics)
    (settings.startsNew, settings.adopt) = (newRun, adopt)
    (settings.precheck, settings.ifRunning, settings.resumeCheck) = (precheck, ifRunning, resumeCheck)
    (settings.waits, settings.failFast) = (!noWait, failFast)
    settings.showsProgress = !common.noProgress
    (settings.log.level, settings.log.format, settings.log.isQuiet) = (
      common.logLevel, common.logFormat, common.quiet
    )
    return settings
  }
}

extension RunSettings.Precheck: ExpressibleByArgument {}
extension RunSettings.IfRunning: ExpressibleByArgument {}
extension RunSettings.ResumeCheck: ExpressibleByArgument {}
