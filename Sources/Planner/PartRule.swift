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
    // A generated manifest has many entries, each of which needs one other: not all are compared with all.
    let byID = Dictionary(grouping: templates.indices) { Self.plain(templates[$0].id) }
    let fanOuts = templates.indices.filter { templates[$0].fanOut != .single }
    var below = Self.below(fanOuts, templates)
    func tie(_ other: Int, to index: Int) {
      isTied[other] = true
      above[root(other)] = root(index)
    }
    for (index, template) in templates.enumerated() {
      for need in template.needs {
        isTied[index] = true
        let meaning = Meaning(need.text)
        let others =
          meaning.id.map { byID[Self.plain($0), default: []] + fanOuts } ?? Array(templates.indices)
        for other in others where meaning.mayBe(templates[other]) {
          tie(other, to: index)
          guard meaning.names(templates[other].id), let rest = below.removeValue(forKey: other) else {
            continue
          }
          for one in rest { tie(one, to: index) }
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

  /// An id without the segments that no pattern sees.
  private static func plain(_ id: String) -> String {
    id.utf8.split(separator: 0x2F).map(Substring.init).filter { $0 != "." }.joined(separator: "/")
  }

  /// By fan-out, the templates whose ids lie below its own: a run takes its id for all that lies there.
  private static func below(_ fanOuts: [Int], _ templates: [TransferTemplate]) -> [Int: [Int]] {
    let byID = Dictionary(grouping: fanOuts) { plain(templates[$0].id) }
    var below: [Int: [Int]] = [:]
    guard !byID.isEmpty else { return below }
    for index in templates.indices {
      let id = plain(templates[index].id)
      for end in id.utf8.indices where id.utf8[end] == 0x2F {
        for fanOut in byID[String(id[..<end]), default: []] { below[fanOut, default: []].append(index) }
      }
    }
    return below
  }

  /// What a text of `needs` may name.
  private enum Meaning {
    case pattern(GlobPattern)
    /// Rows decide what comes behind it.
    case prefix([UInt8])

    init(_ need: InterpolatedText) {
      if let text = need.literal.map(PercentEncoding.need), let pattern = try? GlobPattern(text) {
        self = .pattern(pattern)
      } else {
        let text = PercentEncoding.need(need.literalPrefix)
        self = .prefix(Array(text.utf8.prefix { !"*?[]{}\\".utf8.contains($0) }))
      }
    }

    /// The one id that it names, unless it is below that of a fan-out; nil where it may name any.
    var id: String? {
      if case .pattern(let pattern) = self, pattern.isLiteral { pattern.text } else { nil }
    }

    /// Whether it is a pattern of this id. A text that rows complete means all that begins with it anyway.
    func names(_ id: String) -> Bool {
      if case .pattern(let pattern) = self { pattern.matches(id) } else { false }
    }

    func mayBe(_ template: TransferTemplate) -> Bool {
      let isFanOut = template.fanOut != .single
      switch self {
      case .pattern(let pattern):
        return pattern.matches(template.id) || isFanOut && pattern.mayMatch(below: template.id)
      case .prefix(let prefix):
        let id = Array(template.id.utf8)
        return id.starts(with: prefix) || isFanOut && prefix.starts(with: id + "/".utf8)
      }
    }
  }
}
