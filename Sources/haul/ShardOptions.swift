import ArgumentParser
import HaulCore
import JobModel

/// Which part of a job a command means.
struct ShardOptions: ParsableArguments {
  @Option(
    help: ArgumentHelp(
      "One part of the job: 3/16 is the third of sixteen; `auto`: the one that the engine has started.",
      discussion: """
        Each part has its state, its lock and its report to itself. `auto` reads the variables of Slurm's job arrays, \
        and those of Kubernetes' indexed jobs and AWS Batch's arrays together with HAUL_SHARDS.
        """, valueName: "I/N"), completion: .shards)
  var shard: String?

  /// - Throws: `End` with 64.
  func state(_ common: CommonOptions) throws -> StateFolder {
    let shard = try shard.map { try ShardChoice.parse($0, CurrentProcess.environment) }
    return common.stateFolder.part(shard)
  }
}
