internal import JobModel
internal import ManifestFields

/// `needs`: every pattern may match something, and nothing needs itself.
struct NeedsRule {
  /// Every id of the manifest, also of transfers that have faults.
  struct Known {
    var id: String
    var isFanOut: Bool
    var isDisabled = false
  }
  let known: [Known]
  let scope: Scope
  /// Places in `known` by id: thousands of transfers that name each other are not compared one with another.
  private let places: [String: [Int]]

  init(known: [Known], scope: Scope) {
    (self.known, self.scope) = (known, scope)
    places = Dictionary(grouping: known.indices) { known[$0].id }
  }

  /// The templates with `needs` written out: the id of a fan-out stands for all its transfers.
  func resolve(_ templates: [TransferTemplate], written: [String: [MarkedText]]) -> [TransferTemplate] {
    var edges: [String: [(target: String, mark: SourceMark)]] = [:]
    var needs: [String: [String]] = [:]
    for item in known {
      for need in written[item.id] ?? [] {
        guard let literal = need.text.literal.map(PercentEncoding.need),
          let pattern = try? GlobPattern(literal)
        else { continue }
        let targets = candidates(pattern, literal).filter {
          matches(pattern, $0) && !(isOwnGlob(pattern, $0, of: item))
        }
        if targets.isEmpty {
          let near = NearMiss.of(literal, among: known.map(\.id).filter { $0 != item.id })
          scope.faults.error(
            "`\(literal)` matches no transfer", at: need.mark,
            hint: near.map { "did you mean `\($0)`?" } ?? "name the id of a transfer, or a glob of ids")
        }
        edges[item.id, default: []] += targets.map { ($0.id, need.mark) }
        // A disabled fan-out is one transfer, of its own id.
        let disabled = targets.filter { $0.isFanOut && $0.isDisabled }.map { GlobPattern.escape($0.id) }
        let whole = targets.filter { $0.isFanOut && !$0.isDisabled && pattern.matches($0.id) }.map {
          GlobPattern.escape($0.id) + "/**"
        }
        let isWholeOnly = pattern.isLiteral && whole.count + disabled.count == targets.count
        needs[item.id, default: []] += (isWholeOnly ? [] : [literal]) + whole + disabled
      }
    }
    cycles(edges)
    return templates.map { template in
      var result = template
      for name in result.settings.keys { result.settings[name]?.needs = needs[template.id] ?? [] }
      return result
    }
  }

  /// All that a pattern may match, in order: of an id, its transfer and the fan-outs that it may lie below.
  private func candidates(_ pattern: GlobPattern, _ text: String) -> [Known] {
    guard pattern.isLiteral else { return known }
    let id = GlobPattern.unescape(text)
    let above = id.utf8.indices.filter { id.utf8[$0] == 0x2F }.map { String(id[..<$0]) }
    return (above + [id]).flatMap { places[$0] ?? [] }.sorted().map { known[$0] }
  }

  private func matches(_ pattern: GlobPattern, _ item: Known) -> Bool {
    pattern.matches(item.id) || (item.isFanOut && pattern.mayMatch(below: item.id))
  }

  /// A glob never means the transfer itself.
  private func isOwnGlob(_ pattern: GlobPattern, _ item: Known, of owner: Known) -> Bool {
    !pattern.isLiteral && item.id == owner.id && !(item.isFanOut && pattern.mayMatch(below: item.id))
  }

  private func cycles(_ edges: [String: [(target: String, mark: SourceMark)]]) {
    var done: Set<String> = []
    for start in known.map(\.id) where !done.contains(start) {
      var path: [(id: String, next: Int)] = [(start, 0)]
      var depths = [start: 0]
      while let top = path.last {
        let targets = edges[top.id] ?? []
        guard top.next < targets.count else {
          done.insert(top.id)
          depths[top.id] = nil
          path.removeLast()
          continue
        }
        path[path.count - 1].next += 1
        let edge = targets[top.next]
        if let first = depths[edge.target] {
          let circle = path[first...].map(\.id) + [edge.target]
          scope.faults.error(
            "`needs` runs in a circle: \(circle.joined(separator: " → "))", at: edge.mark,
            hint: "drop one of these needs")
        } else if !done.contains(edge.target) {
          depths[edge.target] = path.count
          path.append((edge.target, 0))
        }
      }
    }
  }
}
