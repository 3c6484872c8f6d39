import Endpoints
import JobModel
import Planner

extension Job {
  /// The job as one of its parts runs it: with its share of the limits. Its transfers are those of the whole.
  func divided(for shard: Shard?) -> Job {
    guard let shard else { return self }
    var job = self
    job.limits = limits.divided(for: shard)
    for index in job.templates.indices {
      func divided(_ settings: TransferSettings) -> TransferSettings {
        var settings = settings
        settings.policy = settings.policy.divided(for: shard)
        settings.sourcePolicy = settings.sourcePolicy?.divided(for: shard)
        if let own = settings.then?.policy { settings.then?.policy = own.divided(for: shard) }
        return settings
      }
      let template = job.templates[index]
      job.templates[index].settings = template.settings.mapValues(divided)
      job.templates[index].sourceSettings = template.sourceSettings.mapValues(divided)
    }
    return job
  }

  /// What a user should know of a part before it runs.
  ///
  /// - Parameter isOwn: only what concerns this part.
  func remarks(on shard: Shard?, isOwn: Bool) -> [Diagnostic] {
    guard let shard else { return [] }
    return tooSmallLimits(for: shard) + PartRule.undividedFanOuts(of: self, shard, isOwn: isOwn)
  }

  /// Numbers of which there are less than one for each part: all parts together keep more than the whole job would.
  private func tooSmallLimits(for shard: Shard) -> [Diagnostic] {
    let policies = templates.flatMap { template in
      template.settings.values.flatMap { [$0.policy] + [$0.sourcePolicy].compactMap(\.self) }
    }.map { $0.undivided.limits ?? $0 }
    let whole = limits.undivided.limits ?? limits
    let all: [(String, [FlightLimit?])] = [
      ("transfers", policies.map(\.transfers) + [whole.transfers]),
      ("connections.total", policies.map(\.connectionsTotal) + [whole.connectionsTotal]),
      ("connections.per_host", policies.map(\.connectionsPerHost) + [whole.connectionsPerHost]),
    ]
    return all.compactMap { name, limits in
      guard let least = limits.compactMap({ $0?.number }).min(), least < shard.count else { return nil }
      return Diagnostic(
        .warning,
        "`\(name)`: \(least) is less than one for each of \(shard.count) shards: each keeps 1, all together \(shard.count)",
        hint: "run fewer of them at a time, or divide the job into fewer")
    }
  }
}
