import JobModel

/// A job, and where its state is: that of the whole job, or of one part.
package struct JobState: Sendable {
  package let job: String
  package let state: StateFolder

  package init(_ job: String, in state: StateFolder) { (self.job, self.state) = (job, state) }
}

/// What a command means that names a job.
package enum NamedJob: Sendable {
  /// The job as a whole, or the part that was asked for.
  case one(JobState)
  /// The parts that have state, where the whole job was asked for and has none.
  case parts([JobState])

  package var states: [JobState] {
    switch self {
    case .one(let state): [state]
    case .parts(let states): states
    }
  }
}

extension StateFolder {
  /// - Throws: `End` with 66 where nothing is on record of it.
  package func named(_ argument: String, _ environment: ProcessEnvironment) throws -> NamedJob {
    let name = try jobName(of: argument, environment)
    if exists(name) { return .one(JobState(name, in: self)) }
    let parts = shard == nil ? shards(of: name) : []
    guard !parts.isEmpty else { throw absent(name) }
    return .parts(parts.map { JobState(name, in: part($0)) })
  }

  /// The states of a job: the whole one, and those of its parts; where one part is meant, that alone.
  func states(of job: String) -> [JobState] {
    let own = exists(job) ? [self] : []
    let parts = shard == nil ? shards(of: job).map { part($0) } : []
    return (own + parts).map { JobState(job, in: $0) }
  }

  /// The states of a job that is named.
  ///
  /// - Throws: `End` with 66 where nothing is on record of it.
  package func states(ofNamed argument: String, _ environment: ProcessEnvironment) throws -> [JobState] {
    let states = try states(of: jobName(of: argument, environment))
    return states.isEmpty ? try named(argument, environment).states : states
  }

  /// The states of all jobs.
  package var everyState: [JobState] { everyJob.flatMap { states(of: $0) } }
}
