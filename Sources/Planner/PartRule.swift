package import Endpoints
package import JobModel

/// Decides which transfers of a job are one part's, as they are planned, whatever comes before or behind them.
///
/// A transfer goes by its own id, unless its template needs another one or is needed: templates that `needs` ties
/// together are a group, and all transfers of a group go by its smallest template id. So a fan-out that needs something
/// is not divided: which of its transfers need each other would be known only when all are planned.
package struct PartRule: Sendable {
  package let shard: Shard
  /// By template: the key of its group; nil where each transfer goes by its own id.
  private let groups: [UInt64?]

  package init(_ job: Job, _ shard: Shard) {
    self.shard = shard
    groups = NeedsGroups(job.templates).leaders.map { $0.map(ShardKey.of) }
  }

  /// - Parameter template: the index of the template that the transfer was made of.
  func holds(_ id: String, template: Int) -> Bool { shard.holds(groups[template] ?? ShardKey.of(id)) }

  /// Fan-outs that go to one part as a whole.
  ///
  /// - Parameter isOwn: only those that go to this one.
  package static func undividedFanOuts(of job: Job, _ shard: Shard, isOwn: Bool) -> [Diagnostic] {
    let leaders = NeedsGroups(job.templates).leaders
    return zip(job.templates, leaders).compactMap { template, leader in
      guard let leader, template.fanOut != .single else { return nil }
      let part = ShardKey.part(of: ShardKey.of(leader), among: shard.count)
      guard !isOwn || part == shard.index else { return nil }
      return Diagnostic(
        .warning,
        "all transfers of `\(template.id)` go to shard \(part)/\(shard.count), for `needs` ties them together",
        at: template.mark, lineText: template.lineText,
        hint: "run what is needed as a job of its own before, and leave `needs` out")
    }
  }
}

/// Which templates `needs` ties together: as far as the manifest alone tells, and rather too many than too few.
struct NeedsGroups {
  /// By template: the smallest id of its group, by bytes; nil for templates that are in none.
  let leaders: [String?]

  init(_ templates: [TransferTemplate]) {
    // A forest: each template leads to another of its group, or to itself.
    var above = Array(templates.indices)
    var isTied = Array(repeating: false, count: templates.count)
    func root(_ index: Int) -> Int {
      var index = index
      while above[index] != index {
        above[index] = above[above[index]]
        index = above[index]
      }
      return index
    }
    for (index, template) in templates.enumerated() {
      for need in template.needs {
        isTied[index] = true
        for other in templates.indices where Self.mayMean(need.text, templates[other]) {
          isTied[other] = true
          above[root(other)] = root(index)
        }
      }
    }
    var smallest: [Int: String] = [:]
    for index in templates.indices {
      let (leader, id) = (root(index), templates[index].id)
      if let known = smallest[leader], known.utf8.lexicographicallyPrecedes(id.utf8) { continue }
      smallest[leader] = id
    }
    leaders = templates.indices.map { isTied[$0] ? smallest[root($0)] : nil }
  }

  /// Whether a text of `needs` may name a transfer of a template.
  private static func mayMean(_ need: InterpolatedText, _ template: TransferTemplate) -> Bool {
    let isFanOut = template.fanOut != .single
    if let text = need.literal.map(PercentEncoding.need), let pattern = try? GlobPattern(text) {
      return pattern.matches(template.id) || isFanOut && pattern.mayMatch(below: template.id)
    }
    // Rows decide what comes behind the fixed part.
    let fixed = Array(PercentEncoding.need(need.literalPrefix).utf8.prefix { !"*?[]{}\\".utf8.contains($0) })
    let id = Array(template.id.utf8)
    return id.starts(with: fixed) || isFanOut && fixed.starts(with: id + "/".utf8)
  }
}
