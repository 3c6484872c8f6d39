import ArgumentParser
import HaulCore
import JobModel
import Reporting

struct ReportCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "report", abstract: "Prints a run's report again, from the state; merges those of shards.",
    usage: """
      haul report JOB [OPTION ...]
      haul report merge FILE ... [--partial] [--format FORM] [--output FILE]
      """,
    discussion: """
      `merge` makes one report of the JSON reports of all shards of a job, as a single machine would have written it; they may \
      come in any order. It ends with 65 where they are not of one job, manifest and number of shards, or where one is \
      missing or there twice.
      """)

  /// The word in the place of a job that asks for merging.
  private static let merge = "merge"

  @Argument(help: "A manifest, or a job's name; `merge` for files.", completion: .jobs)
  var job: String

  @Argument(help: "Of `merge`: the reports of the shards.", completion: .file(extensions: ["json"]))
  var files: [String] = []

  @Option(name: .customLong("run"), help: "The run's number; the last one where left out.")
  var number: Int?

  @Option(
    help: "The report's form; by the suffix of --output where left out, else text, and of `merge` JSON.")
  var format: ReportForm?

  @Option(
    help: ArgumentHelp("A file to write it to, whole or not at all.", valueName: "file"), completion: .file())
  var output: String?

  @Flag(help: "Every transfer of a very long plan, too.")
  var all = false

  @Flag(help: "Only transfers that did not complete.")
  var failed = false

  @Flag(help: "Only the ids, one a line, as `haul run --only-from` takes them: `--format ids`.")
  var ids = false

  @Flag(help: "Of `merge`: shards may be missing; the report says which.")
  var partial = false

  @OptionGroup var part: ShardOptions
  @OptionGroup var common: CommonOptions

  func validate() throws {
    if !files.isEmpty, job != Self.merge {
      throw ValidationError("`\(files[0])` is unexpected: reports are merged by `haul report merge FILE …`")
    }
    if !files.isEmpty, number != nil || part.shard != nil {
      throw ValidationError("`--run` and `--shard` are of a job's report, not of `merge`")
    }
    if ids, let other = common.json ? "--json" : format.map({ "--format \($0.rawValue)" }), format != .ids {
      throw ValidationError("`--ids` and `\(other)` are two forms: give one of them")
    }
    if partial, files.isEmpty { throw ValidationError("`--partial` is of `haul report merge FILE …`") }
  }

  func run() async throws {
    guard files.isEmpty else {
      return try ReportMerge.write(
        files, isPartial: partial, isOfRest: failed, includesAll: all, to: target(else: .json),
        CurrentProcess.console)
    }
    let state = try part.state(common)
    let name: String
    do { name = try state.resolve(job, CurrentProcess.environment) } catch {
      // A job may have that name.
      guard job == Self.merge else { throw error }
      throw End(.usage, "`haul report merge` merges nothing", hint: "name the reports of all shards")
    }
    try RunRecords(name, state).writeReport(
      number, of: job, to: target(else: .text), includesAll: all, isOfRest: failed,
      console: CurrentProcess.console)
    await common.sendOwedNotices(of: [JobState(name, in: state)])
  }

  private func target(else form: ReportForm) -> ReportTarget {
    let given = format ?? (ids ? .ids : common.json ? .json : output.flatMap(ReportForm.init(path:)))
    return ReportTarget(output ?? "-", as: given ?? form)
  }
}

extension ReportForm: ExpressibleByArgument {}
