import HaulCore
import JobModel
import Testing

struct ShardChoiceTests {
  private static func choose(_ text: String, _ variables: [String: String]) throws -> String {
    try ShardChoice.parse(text, ProcessEnvironment(variables, userHome: "/")).text
  }

  private static func slurm(_ id: String, _ more: [String: String] = [:]) -> [String: String] {
    ["SLURM_ARRAY_TASK_ID": id].merging(more) { $1 }
  }

  @Test(
    arguments: [
      (["SLURM_ARRAY_TASK_ID": "7", "SLURM_ARRAY_TASK_MIN": "5", "SLURM_ARRAY_TASK_COUNT": "16"], "3/16"),
      (
        [
          "SLURM_ARRAY_TASK_ID": "0", "SLURM_ARRAY_TASK_MIN": "0", "SLURM_ARRAY_TASK_MAX": "3",
          "SLURM_ARRAY_TASK_STEP": "1", "SLURM_ARRAY_TASK_COUNT": "4",
        ], "1/4"
      ),
      (["JOB_COMPLETION_INDEX": "0", "HAUL_SHARDS": "16"], "1/16"),
      (["JOB_COMPLETION_INDEX": "15", "HAUL_SHARDS": "16"], "16/16"),
      (["AWS_BATCH_JOB_ARRAY_INDEX": "2", "HAUL_SHARDS": "3"], "3/3"),
      // Two that agree.
      (["AWS_BATCH_JOB_ARRAY_INDEX": "2", "JOB_COMPLETION_INDEX": "2", "HAUL_SHARDS": "3"], "3/3"),
      // An empty variable is none.
      (["AWS_BATCH_JOB_ARRAY_INDEX": "", "JOB_COMPLETION_INDEX": "1", "HAUL_SHARDS": "3"], "2/3"),
      (
        [
          "SLURM_ARRAY_TASK_ID": "2", "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_COUNT": "4",
          "HAUL_SHARDS": "4",
        ], "2/4"
      ),
    ] as [([String: String], String)])
  func automatic(_ variables: [String: String], _ shard: String) throws {
    #expect(try Self.choose("auto", variables) == shard)
  }

  @Test(
    arguments: [
      ([:], "SLURM_ARRAY_TASK_ID`, `JOB_COMPLETION_INDEX`, `AWS_BATCH_JOB_ARRAY_INDEX"),
      (["HAUL_SHARDS": "16"], "none of the variables"),
      (["JOB_COMPLETION_INDEX": "0"], "`HAUL_SHARDS` is not set"),
      (["AWS_BATCH_JOB_ARRAY_INDEX": "0"], "`HAUL_SHARDS` is not set"),
      (["JOB_COMPLETION_INDEX": "16", "HAUL_SHARDS": "16"], "is 16"),
      (["JOB_COMPLETION_INDEX": "-1", "HAUL_SHARDS": "16"], "must be a number, and is `-1`"),
      (["JOB_COMPLETION_INDEX": "0", "HAUL_SHARDS": "0"], "none of that number"),
      (["JOB_COMPLETION_INDEX": "0", "HAUL_SHARDS": "1x"], "`HAUL_SHARDS` must be a number, and is `1x`"),
      (["SLURM_ARRAY_TASK_ID": "1"], "`SLURM_ARRAY_TASK_MIN` is not"),
      (["SLURM_ARRAY_TASK_ID": "1", "SLURM_ARRAY_TASK_MIN": "1"], "`SLURM_ARRAY_TASK_COUNT` is not"),
      // `--array=1-31:2`, and `--array=3,7`.
      (
        [
          "SLURM_ARRAY_TASK_ID": "3", "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_MAX": "31",
          "SLURM_ARRAY_TASK_STEP": "2", "SLURM_ARRAY_TASK_COUNT": "16",
        ], "not 16 in a row"
      ),
      (
        [
          "SLURM_ARRAY_TASK_ID": "7", "SLURM_ARRAY_TASK_MIN": "3", "SLURM_ARRAY_TASK_MAX": "7",
          "SLURM_ARRAY_TASK_COUNT": "2",
        ], "not 2 in a row"
      ),
      (
        [
          "SLURM_ARRAY_TASK_ID": "2", "SLURM_ARRAY_TASK_MIN": "1", "SLURM_ARRAY_TASK_COUNT": "4",
          "HAUL_SHARDS": "5",
        ], "contradict"
      ),
      (
        ["JOB_COMPLETION_INDEX": "1", "AWS_BATCH_JOB_ARRAY_INDEX": "2", "HAUL_SHARDS": "16"],
        "`JOB_COMPLETION_INDEX` says 2/16, `AWS_BATCH_JOB_ARRAY_INDEX` says 3/16"
      ),
    ] as [([String: String], String)])
  func whatCannotBeToldIsRefused(_ variables: [String: String], _ words: String) {
    let end = #expect(throws: End.self) { try Self.choose("auto", variables) }
    #expect(end?.status == .usage && end?.message?.contains(words) == true, "\(end?.message ?? "")")
  }

  @Test func aPartThatIsGivenCountsWhateverTheEngineSays() throws {
    #expect(try Self.choose("3/16", ["JOB_COMPLETION_INDEX": "0"]) == "3/16")
    let end = #expect(throws: End.self) { try Self.choose("17/16", [:]) }
    #expect(end?.status == .usage)
  }
}
