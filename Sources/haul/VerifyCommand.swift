import ArgumentParser
import Glibc
import HaulCore
import JobModel

struct VerifyCommand: AsyncParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "verify",
    abstract: "Compares what a job has completed with what is on record; moves and changes nothing.",
    discussion: """
      Downloaded files are read and their digests compared; of uploaded ones it compares what the endpoint tells. \
      What nothing tells of is `unverifiable`, never verified. A verification that was stopped goes on with the same command.
      """)

  @Argument(help: "A manifest, or a job's name.", completion: .jobs)
  var job: String

  @Option(
    help: ArgumentHelp(
      "Only these transfers: an id with what lies below it, or a glob of ids.", valueName: "glob"),
    completion: .ids)
  var id: String?

  @Option(help: ArgumentHelp("Only a random share of them: 1%.", valueName: "percent"))
  var sample: String?

  @Option(
    name: .customLong("run"),
    help: ArgumentHelp("Only what this run completed, as far as no later one has.", valueName: "n"))
  var runNumber: Int?

  @Option(help: ArgumentHelp("Bytes a second that are read at the most: 20MB/s.", valueName: "rate"))
  var rate: String?

  @Flag(help: "Read uploaded files back where the endpoint can, and compare their digests.")
  var read = false

  @OptionGroup var part: ShardOptions
  @OptionGroup var common: CommonOptions

  func run() async throws {
    let request = try self.request()
    let state = try part.state(common)
    let name = try state.resolve(job, CurrentProcess.environment)
    let stopper = StopController()
    let signal = OnceValue<Int32>()
    let signals = Signals { number in
      signal.set(number)
      stopper.interrupt()
    }
    defer { withExtendedLifetime(signals) {} }
    let verification = JobVerification(
      state, CurrentProcess.context, request, json: common.json, isQuiet: common.quiet,
      showsProgress: !common.noProgress)
    try await verification.run(name, stopper) { Signals.name(signal.value ?? SIGTERM) }
  }

  private func request() throws -> VerifyRequest {
    var request = VerifyRequest()
    request.ids = try id.map { text in try OptionValue.read("--id") { try IDPattern(text) } }
    request.share = try sample.map { text in
      try OptionValue.read("--sample") { try VerifyRequest.share(text) }
    }
    request.rate =
      try rate.map { text in try OptionValue.read("--rate") { try Units.rate(text) } } ?? .unlimited
    (request.run, request.readsRemote) = (runNumber, read)
    return request
  }
}
