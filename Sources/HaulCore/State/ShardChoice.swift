package import JobModel

/// Which part of a job `--shard` means.
package enum ShardChoice {
  /// The engines that start parts, each by the variable that says which part this is.
  private enum Engine: String, CaseIterable {
    case slurm = "SLURM_ARRAY_TASK_ID"
    case kubernetes = "JOB_COMPLETION_INDEX"
    case aws = "AWS_BATCH_JOB_ARRAY_INDEX"
  }

  private static let countVariable = "HAUL_SHARDS"

  /// - Parameter text: `I/N`, or `auto` for what the engine that started haul says.
  /// - Throws: `End` with 64.
  package static func parse(_ text: String, _ environment: ProcessEnvironment) throws -> Shard {
    guard text != "auto" else { return try automatic(environment) }
    do throws(ValueFault) { return try Shard(text) } catch {
      throw End(.usage, "`--shard`: \(error.message)", hint: error.hint)
    }
  }

  private static func automatic(_ environment: ProcessEnvironment) throws -> Shard {
    let found = try Engine.allCases.filter { environment[$0.rawValue] != nil }
      .map { (engine: $0, shard: try shard($0, environment)) }
    guard let first = found.first else {
      throw End(
        .usage,
        "`--shard auto`: none of the variables \(names(Engine.allCases)) is set, which engines give to the parts of a job",
        hint: "start it as a job array, or give `--shard I/N`")
    }
    guard found.allSatisfy({ $0.shard == first.shard }) else {
      let all = found.map { "`\($0.engine.rawValue)` says \($0.shard.text)" }.joined(separator: ", ")
      throw End(
        .usage, "`--shard auto`: the variables contradict each other: \(all)",
        hint: "unset those that are not meant, or give `--shard I/N`")
    }
    return first.shard
  }

  private static func shard(_ engine: Engine, _ environment: ProcessEnvironment) throws -> Shard {
    switch engine {
    case .slurm: return try slurm(environment)
    case .kubernetes, .aws:
      guard environment[countVariable] != nil else {
        throw End(
          .usage,
          "`--shard auto`: `\(engine.rawValue)` says which part this is, and `\(countVariable)` is not set",
          hint: "set `\(countVariable)` to the number of parts")
      }
      let count = try number(countVariable, environment)
      return try shard(number(engine.rawValue, environment), from: 0, of: count, engine)
    }
  }

  /// An array's ids may begin anywhere: `--array=5-20` are 16 parts.
  private static func slurm(_ environment: ProcessEnvironment) throws -> Shard {
    let (base, total) = ("SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_COUNT")
    for name in [base, total] where environment[name] == nil {
      throw End(
        .usage, "`--shard auto`: `\(Engine.slurm.rawValue)` is set, and `\(name)` is not",
        hint: "start it by `sbatch --array=1-N`, or give `--shard I/N`")
    }
    let (first, count) = (try number(base, environment), try number(total, environment))
    let (last, step) = ("SLURM_ARRAY_TASK_MAX", "SLURM_ARRAY_TASK_STEP")
    let end = environment[last] == nil ? first + count - 1 : try number(last, environment)
    let isStepped = try environment[step] != nil && number(step, environment) != 1
    guard !isStepped, end - first + 1 == count else {
      throw End(
        .usage,
        "`--shard auto`: the array's ids from \(first) to \(end) are not \(count) in a row: which part each is can't be told",
        hint: "start it by `--array=1-N` without a step; a part alone is run again with `--shard I/N`")
    }
    if environment[countVariable] != nil, try number(countVariable, environment) != count {
      throw End(
        .usage, "`--shard auto`: `\(countVariable)` and `\(total)` contradict each other",
        hint: "leave `\(countVariable)` out: the array says how many parts there are")
    }
    return try shard(number(Engine.slurm.rawValue, environment), from: first, of: count, .slurm)
  }

  private static func shard(_ index: Int, from first: Int, of count: Int, _ engine: Engine) throws -> Shard {
    guard let shard = Shard(index - first + 1, of: count) else {
      throw End(
        .usage,
        "`--shard auto`: `\(engine.rawValue)` is \(index), and \(count) parts that begin at \(first) have none of that number",
        hint: "the engine's size and the number of parts must be one; at most \(Shard.most)")
    }
    return shard
  }

  private static func number(_ name: String, _ environment: ProcessEnvironment) throws -> Int {
    let text = environment[name] ?? ""
    guard let number = Shard.number(text.utf8) else {
      throw End(.usage, "`--shard auto`: `\(name)` must be a number, and is `\(text.prefix(40))`", hint: nil)
    }
    return number
  }

  private static func names(_ engines: [Engine]) -> String {
    engines.map { "`\($0.rawValue)`" }.joined(separator: ", ")
  }
}
