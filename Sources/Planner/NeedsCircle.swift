/// What waits for what, where rows name their needs: transfers, known by the hashes of their ids, and whole fan-outs.
struct NeedsCircle {
  /// Needs that are looked at: some hundred bytes each. A circle in a larger job is seen when nothing can go on.
  private static let most = 100_000

  private var needs: [UInt64: [UInt64]] = [:]
  private var count = 0

  mutating func note(_ id: UInt64, needs more: [UInt64]) {
    count += more.count
    guard count <= Self.most else { return needs = [:] }
    needs[id, default: []] += more
  }

  /// Says that all of a fan-out waits for one of its transfers, which has needs of its own.
  mutating func note(_ id: UInt64, of fanOut: UInt64) {
    if count <= Self.most { needs[fanOut, default: []].append(id) }
  }

  /// Ids that wait for each other, or behind such ones: none of them would ever have its turn.
  var members: Set<UInt64> {
    var open = needs.mapValues { $0.count { needs[$0] != nil } }
    var waiting: [UInt64: [UInt64]] = [:]
    for (id, all) in needs {
      for need in all where needs[need] != nil { waiting[need, default: []].append(id) }
    }
    var ended = open.filter { $0.value == 0 }.map(\.key)
    while let id = ended.popLast() {
      open[id] = nil
      for other in waiting[id] ?? [] {
        guard let left = open[other] else { continue }
        open[other] = left - 1
        if left == 1 { ended.append(other) }
      }
    }
    return Set(open.keys)
  }
}
